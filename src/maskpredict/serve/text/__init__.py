"""Text processing without models: sentence splitting, HTML and language detection."""
