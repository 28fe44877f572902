"""A recipe from raw text to a model with scores, in pieces: every stage can be interrupted and continued anywhere.

WORK/data        prepare    subwords, cleaned and encoded text
WORK/teacher     teacher    run of the autoregressive model
WORK/distilled   distill    the data with the teacher's translations as targets
WORK/student     student    run of the model that is shipped
WORK/results     evaluate   a JSON file for each score, and the translations that got it
WORK/model       ship       model folder with its card
WORK/NAME        NAME       run of a variant: another model to compare with
WORK/analysis    analyze    the paper's tables and figures, and the report; WORK/texts has the translations behind them

WORK/STAGE.json says what a stage was made from and whether it is finished.
"""
