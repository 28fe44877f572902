"""Text processing without models: language detection."""
