"""The examples of the Python interface run."""

import doctest

import flyball_planner.api


def test_the_examples_run() -> None:
    """What the documentation shows is what happens."""
    result = doctest.testmod(flyball_planner.api, optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    assert result.attempted > 5
    assert result.failed == 0
