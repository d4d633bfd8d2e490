"""The route of the HTTP API that reads a request body."""

NOTIFICATION_ROUTE = b"/api/v1/silences"
