"""From text to text with a trained model: the `Translator` and what it is made of."""
