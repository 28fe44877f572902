"""Report on the results of the analyses, next to the paper's numbers, with a verdict on each of its claims.

`published_numbers.py` has the paper's numbers, `claims.py` its claims and their thresholds, `verdicts.py` the
comparison. `write.py` writes report.md and report.html.
"""
