"""Notifications of raised and cleared conditions to Alertmanager and webhooks, repeated until they are accepted."""
