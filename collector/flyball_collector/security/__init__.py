"""Certificates, tokens, and the conditions for listening beyond loopback."""
