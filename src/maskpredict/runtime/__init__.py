"""Text to text with a trained model: the `Translator` and its parts."""
