"""Fixtures of the client's tests."""

import pytest

from tests.client.training.standin_cuda import StandinCuda, put_into_torch


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> StandinCuda:
    """Return a GPU that a test plays by hand."""
    return put_into_torch(monkeypatch)
