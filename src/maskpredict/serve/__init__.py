"""The web service: a translation API and a page that shows every decoding pass.

`http` handles requests, `queue` translates, `page` holds the static page. Imports go from `http` to `queue`, never
back.
"""
