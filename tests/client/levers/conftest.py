"""Fixtures of the tests of levers."""

from tests.client.adjustments.conftest import adjusted

__all__ = ["adjusted"]
