"""Glossaries: terms of the source and the words that translations must have for them."""
