"""The HTTP layer: application, routes, middleware, access control and error responses."""
