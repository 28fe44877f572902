"""The web service: a translation API and a page that shows every decoding pass.

`http` handles requests, `queue` translates, `text` splits and joins texts, `page` holds the static page. Imports go
from `http` to `queue` to `text`, never back.
"""
