"""Documents: what is text in a file, and the file again with that text translated. One format a file."""
