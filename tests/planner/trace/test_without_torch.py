"""Tracing where torch is missing."""

import pytest

from flyball_planner.trace import module
from flyball_reports.errors import InputError


def test_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where torch is missing, the one function that needs it says so."""
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    with pytest.raises(InputError, match="pip install torch"):
        module.trace_module(lambda: None, ())
