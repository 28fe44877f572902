"""What the analyses found beside what the paper says, with every claim judged by code.

`paper.py` has the paper's numbers, `claims.py` its claims and what it takes for each to hold here. `write.py` makes
report.md and report.html of the results in a folder.
"""
