"""The exception by which a training refuses a change."""

from __future__ import annotations


class Veto(Exception):
    """A change is not possible. The reason is shown to the operator: a few words, such as `compiled model`."""
