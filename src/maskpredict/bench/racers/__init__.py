"""Racers, one file per engine. A new engine is a new file and some lines in `bench/build_racers.py`."""
