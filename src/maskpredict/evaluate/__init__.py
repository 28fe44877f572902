"""How good translations are: one file for each measure."""
