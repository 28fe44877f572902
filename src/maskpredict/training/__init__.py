"""One training loop for every system; what differs between systems is their `loss`."""
