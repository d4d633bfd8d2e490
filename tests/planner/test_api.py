"""The examples of the Python interface run."""

import doctest
import subprocess
import sys

import pytest

import flyball_planner.api


def test_the_examples_run() -> None:
    """What the documentation shows is what happens."""
    result = doctest.testmod(flyball_planner.api, optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    assert result.attempted > 5
    assert result.failed == 0


def test_importing_it_waits_for_no_numpy() -> None:
    """The import stays fast: arrays come with the first plan; every name is there nevertheless."""
    program = (
        "import sys, flyball_planner.api as api\n"
        "assert 'numpy' not in sys.modules, 'numpy came along'\n"
        "missing = [name for name in api.__all__ if not hasattr(api, name)]\n"
        "assert not missing, missing\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_what_is_not_there_is_told() -> None:
    """Names that come later are no excuse for those that never do."""
    with pytest.raises(AttributeError, match="has no attribute 'plam'"):
        flyball_planner.api.plam  # noqa: B018
