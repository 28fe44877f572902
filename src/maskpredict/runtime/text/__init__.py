"""Text as it is: spans that must not change, numbers, capitals and the frame of a line, around any model."""
