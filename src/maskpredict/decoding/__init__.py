"""Ways to turn a model's predictions into a sentence: mask-predict and its siblings, and beam search."""
