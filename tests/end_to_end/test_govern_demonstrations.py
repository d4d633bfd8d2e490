"""The demonstrations of examples/govern/ keep what they promise. They run beside each other: they mostly wait."""

import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DEMONSTRATIONS = ("service_bound", "heat", "harm", "oom")
MOST_SECONDS = 420


def _missing(name: str) -> str:
    """Return why a demonstration cannot run here."""
    if name == "oom" and importlib.util.find_spec("torch") is None:
        return "PyTorch is not installed"
    if name == "heat" and shutil.which("cc") is None and shutil.which("gcc") is None:
        return "there is no C compiler"
    return ""


@pytest.fixture(scope="module")
def started() -> Iterator[dict[str, "subprocess.Popen[str]"]]:
    """All demonstrations that can run here."""
    processes = {
        name: subprocess.Popen(
            [sys.executable, "-m", f"examples.govern.{name}", "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        for name in DEMONSTRATIONS
        if not _missing(name)
    }
    yield processes
    for process in processes.values():
        process.terminate()
        process.communicate(timeout=60)


@pytest.mark.parametrize("name", DEMONSTRATIONS)
def test_a_demonstration_keeps_its_promises(name: str, started: dict[str, "subprocess.Popen[str]"]) -> None:
    """It ends with status 0, and each figure with a promise has reached it."""
    if reason := _missing(name):
        pytest.skip(reason)
    output, errors = started[name].communicate(timeout=MOST_SECONDS)
    assert started[name].returncode == 0, f"{errors[-3000:]}\n{output[-3000:]}"
    result: dict[str, Any] = json.loads(output.splitlines()[-1])
    promised = [figure for figure in result["figures"] if figure["reached"] is not None]
    assert promised
    assert [figure["name"] for figure in promised if not figure["reached"]] == []
    assert result["adjustments"]
