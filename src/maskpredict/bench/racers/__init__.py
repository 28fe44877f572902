"""The racers, one engine a file. A new engine is a new file and some lines in `bench/build_racers.py`."""
