"""Runs a user's command or function over many configurations and ranks them by what they got done a second."""
