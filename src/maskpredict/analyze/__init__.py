"""The paper's analyses, and some beyond it, of any model on any test set: one file for each.

Each has a function from a `Study` (the models, the test set, the translations) to a frozen dataclass of numbers, and
says how those become a table and, where it helps, a picture. `catalogue.py` lists them all, `run.py` runs them.
"""
