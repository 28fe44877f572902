"""`maskpredict reproduce`: runs a recipe from raw text to a scored model, in stages that can be resumed.

WORK/data        prepare    vocabulary, and cleaned and encoded text
WORK/teacher     teacher    run of the autoregressive model
WORK/distilled   distill    the data with the teacher's translations as targets
WORK/student     student    run of the student
WORK/results     evaluate   a JSON file for each score, and the translations that got it
WORK/model       ship       final model folder with its model card
WORK/NAME        NAME       run of a variant, a model for comparison
WORK/analysis    analyze    the paper's tables and figures, and the report; WORK/texts has the translations

WORK/STAGE.json records the values that a stage depends on, and whether it is finished.
"""
