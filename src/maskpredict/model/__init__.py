"""The transformer, its length head, and the folder a trained model lives in."""
