"""Tests of the examples of the Python interface."""

import doctest
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flyball_planner.api
from flyball_planner.api import configure, plan, recommend, register_hardware
from flyball_planner.catalogue.devices import REGISTRY
from flyball_planner.models.families import REGISTERED
from flyball_reports.errors import InputError

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
ROOT = Path(__file__).parents[2]
PLANNING, README = ROOT / "docs/planning.md", ROOT / "README.md"
EXAMPLE = ROOT / "examples/planning/own.py"


@pytest.fixture(autouse=True)
def unregister() -> Iterator[None]:
    """Remove the hardware and models that examples register."""
    yield
    REGISTRY.clear()
    REGISTERED.clear()


@pytest.mark.parametrize("name", DOCUMENTED)
def test_the_examples_run(name: str) -> None:
    """The doctests of each documented module pass."""
    result = doctest.testmod(import_module(name), optionflags=OPTIONS)
    assert result.attempted > 0
    assert result.failed == 0


def test_the_programs_of_the_pages_run() -> None:
    """The programs of the documentation and of the README run, in their order, and make the plans that they print."""
    names: dict[str, Any] = {}
    for page in (PLANNING, README):
        programs = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
        for program in (each for each in programs if "plan" in each):
            exec(program, names)  # noqa: S102  trusted code
    assert names["page"].startswith("<!doctype html>")
    assert names["own"].model.parameters == 512 * 64
    assert names["made"].model.name == "llama-3.1-8b"


def test_the_example_of_own_models_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """The program in the examples registers a model and a device and plans with them."""
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert "fits" in capsys.readouterr().out


NAMES = (
    "LevelEstimate", "StorageBreakdown", "StorageEstimator", "configure", "plan", "plan_file", "recommend",
    "register_hardware", "register_model",
)  # fmt: skip


def test_names_of_earlier_scripts_are_available() -> None:
    """An old script needs only `flyball` in its import line, and importing it does not import the planner."""
    program = (
        "import sys, flyball\n"
        "assert not [each for each in sys.modules if each.startswith('flyball_planner')]\n"
        f"missing = [name for name in {NAMES} if not callable(getattr(flyball, name)) or name not in dir(flyball)]\n"
        "assert not missing, missing\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_import_does_not_load_numpy() -> None:
    """Importing the interface does not import numpy, and every public name is available."""
    program = (
        "import sys, flyball_planner.api as api\n"
        "assert 'numpy' not in sys.modules, 'numpy came along'\n"
        "missing = [name for name in api.__all__ if not hasattr(api, name)]\n"
        "assert not missing, missing\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_an_unknown_name_is_an_attribute_error() -> None:
    """Although names are loaded lazily, an unknown one raises AttributeError."""
    with pytest.raises(AttributeError, match="has no attribute 'plam'"):
        flyball_planner.api.plam  # noqa: B018


def test_numbers_of_numpy_are_numbers() -> None:
    """A batch that was computed with numpy is a batch."""
    training = {"batch_size": np.int64(8), "steps": np.float64(10)}
    made = plan(
        model="gpt2", hardware="RTX_4090_fp16", training=training, scalability={"batch_sizes": np.array([8, 16])}
    )
    assert (made.training.global_batch, made.training.steps) == (8, 10)
    assert [each.global_batch for each in made.scaling_batches] == [8, 16]


@pytest.mark.parametrize("wrong", [None, 7, ["H100"]])
def test_hardware_that_is_not_a_name_is_refused(wrong: Any) -> None:
    """Each function names what it expects, instead of an error of Python."""
    with pytest.raises(InputError, match="expected the name of a device"):
        plan(model="gpt2", hardware=wrong)
    with pytest.raises(InputError, match="expected the name of a device"):
        configure(wrong)
    with pytest.raises(InputError, match="expected a name in quotes"):
        register_hardware(wrong, {"type": "gpu"})


def test_a_machine_may_be_configured_by_its_name() -> None:
    """The number of devices of a cloud instance, or before a name, is used where none is passed."""
    assert configure("2xRTX 4090")[0].devices == 2


def test_hours_that_are_not_a_number_are_refused() -> None:
    """NaN is refused like a text."""
    with pytest.raises(InputError, match="samples must be a number, not nan"):
        recommend(samples=float("nan"), hours=1)  # type: ignore[arg-type]  # as untyped callers may pass
