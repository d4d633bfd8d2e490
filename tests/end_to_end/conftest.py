"""Starts the demonstrations of examples/govern/ with the first test, so that they run beside the others: they wait."""

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

DEMONSTRATIONS = ("service_bound", "heat", "harm", "oom")
_ROOT = Path(__file__).parents[2]
_MODULE = "test_govern_demonstrations.py"
_LEAST_SECONDS_TO_END = 60

Demonstration = subprocess.Popen[str] | str
"""The process, or why it cannot run here."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests of the demonstrations last."""
    items.sort(key=lambda item: item.path.name == _MODULE)


@pytest.fixture(scope="session", autouse=True)
def demonstrations(request: pytest.FixtureRequest) -> Iterator[Mapping[str, Demonstration]]:
    """Start those whose tests were chosen."""
    chosen = {item.callspec.params["name"] for item in request.session.items if item.path.name == _MODULE}  # type: ignore[attr-defined]  # they are parametrised
    started: dict[str, Demonstration] = {
        name: missing(name) or start(name) for name in DEMONSTRATIONS if name in chosen
    }
    yield started
    for process in started.values():
        if not isinstance(process, str):
            process.terminate()
            process.communicate(timeout=_LEAST_SECONDS_TO_END)


def missing(name: str) -> str:
    """Return why a demonstration cannot run here; empty if it can."""
    if name == "oom" and importlib.util.find_spec("torch") is None:
        return "PyTorch is not installed"
    if name == "heat" and shutil.which("cc") is None and shutil.which("gcc") is None:
        return "there is no C compiler"
    return ""


def start(name: str) -> "subprocess.Popen[str]":
    """Start a demonstration."""
    command = [sys.executable, "-m", f"examples.govern.{name}", "--json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=_ROOT)
