"""Notifications: what stands and what ended, told to Alertmanager and to webhooks, until they have taken it."""
