"""The paper's analyses, and further ones, of any model on any test set, and the report on them.

`analyses/` has one file for each analysis: a function from a `Study` (the models, the test set, the translations) to a
frozen dataclass of numbers, with a table and, where it helps, a figure. `run.py` runs them and `finding.py` writes and
reads their results. `report/` compares the results with the paper's numbers and checks its claims.
"""
