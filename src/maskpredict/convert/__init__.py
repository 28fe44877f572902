"""In by other doors: models of other programs as model folders. One file per foreign format."""
