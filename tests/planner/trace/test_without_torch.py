"""Test tracing without torch."""

import pytest

from flyball_planner.trace import module
from flyball_reports.errors import InputError


def test_a_missing_torch_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without torch, `trace_module` raises an error that explains how to install it."""
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    with pytest.raises(InputError, match="pip install torch"):
        module.trace_module(lambda: None, ())
