"""The routes, a few to a file; they translate between HTTP and the `TranslationService`."""
