"""No test of the client sees the runs of another one."""

from collections.abc import Iterator

import pytest

from flyball.training import fork


@pytest.fixture(autouse=True)
def no_open_runs() -> Iterator[None]:
    """Finish the runs that a test has left open."""
    yield
    for run in fork.open_runs():
        run.finish()
