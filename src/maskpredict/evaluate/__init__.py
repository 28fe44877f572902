"""Evaluation of translations, one file per measure."""
