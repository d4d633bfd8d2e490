"""The examples of the Python interface run."""

import doctest
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import flyball_planner.api
from flyball_planner.catalogue.devices import REGISTRY
from flyball_planner.models.families import REGISTERED

DOCUMENTED = (
    "flyball",
    "flyball_planner.api",
    "flyball_planner.catalogue.devices",
    "flyball_planner.models.families",
    "flyball_planner.recommend.recommendation",
    "flyball_planner.scaling.fitting",
    "flyball_planner.storage.estimator",
    "flyball_planner.sweep.configurations",
)
OPTIONS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
PLANNING = Path(__file__).parents[2] / "docs/planning.md"


@pytest.fixture(autouse=True)
def nothing_stays_registered() -> Iterator[None]:
    """What examples add does not reach other tests."""
    yield
    REGISTRY.clear()
    REGISTERED.clear()


@pytest.mark.parametrize("name", DOCUMENTED)
def test_the_examples_run(name: str) -> None:
    """What the documentation shows is what happens."""
    result = doctest.testmod(import_module(name), optionflags=OPTIONS)
    assert result.attempted > 0
    assert result.failed == 0


def test_the_programs_of_the_page_run() -> None:
    """The page's program makes a plan and a page of it."""
    (program,) = (
        each
        for each in re.findall(r"```python\n(.*?)```", PLANNING.read_text(encoding="utf-8"), re.DOTALL)
        if "plan(" in each
    )
    told: dict[str, str] = {}
    exec(program, told)  # noqa: S102  our own page's
    assert told["page"].startswith("<!doctype html>")


@pytest.mark.parametrize("name", ["StorageEstimator", "register_hardware", "register_model"])
def test_names_of_earlier_scripts_are_where_they_were(name: str) -> None:
    """An old script needs only its import line changed to `flyball`; importing that brings no planner along."""
    program = (
        "import sys, flyball\n"
        "assert not [each for each in sys.modules if each.startswith('flyball_planner')]\n"
        f"assert callable(flyball.{name}) and {name!r} in dir(flyball)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


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
