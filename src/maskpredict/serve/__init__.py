"""Translation over HTTP: small routers over one `TranslationService`, and a page that shows the iterations."""
