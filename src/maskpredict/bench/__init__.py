"""Races: our engines against each other and against what one would use instead, honestly timed."""
