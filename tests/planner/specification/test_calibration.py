"""Tests of the key `calibration`."""

import pytest

from flyball_planner.specification.reader import read_specification
from flyball_planner.specification.specification import Specification
from flyball_reports.specification.problems import SpecificationError

PLAN = """\
model: gpt2
hardware: {device: A100_80GB_fp16, devices: 8}
training: {batch_size: 512, sequence: 1024, steps: 1000, precision: bf16}
"""
FILES = {"runs.csv": "model,device,batch_size,sequence,step_seconds\ngpt2,A100,8,1024,0.1\ngpt2,Z4711,8,1024,0.1\n"}


def read(calibration: str) -> Specification:
    """Read the specification with a `calibration` key."""

    def files(name: str) -> str:
        if name not in FILES:
            raise FileNotFoundError(2, "No such file or directory")
        return FILES[name]

    return read_specification(PLAN + calibration, "run.yaml", files)


def test_a_file_is_read_next_to_the_specification() -> None:
    """Runs that cannot be used are listed with their reasons."""
    measured = read("calibration: runs.csv\n").measured
    assert measured is not None
    assert (measured.source, len(measured.runs), len(measured.refused)) == ("runs.csv", 1, 1)


def test_a_run_inherits_from_the_specification() -> None:
    """Model, device and training come from the specification unless the run overrides them."""
    measured = read(
        "calibration:\n  - {micro_batch: 8, step_seconds: 1.5}\n  - {batch_size: 256, step_seconds: 0.8}\n"
    ).measured
    assert measured is not None
    first, second = measured.runs
    assert (first.training.global_batch, first.machine.devices, first.layout.micro_batch) == (512, 8, 8)
    assert (second.training.global_batch, second.layout.micro_batch) == (256, 32)
    assert first.name == "line 5"


def test_without_the_key_there_are_no_measured_runs() -> None:
    """A missing key and an empty key give no measured runs."""
    assert read("").measured is None
    assert read("calibration:\n").measured is None


@pytest.mark.parametrize(
    ("calibration", "message"),
    [
        ("calibration: none.csv\n", "run.yaml:4: calibration: there is no file none.csv"),
        ("calibration: 3\n", "run.yaml:4: calibration: expected the name of a file, or a list of runs, not 3"),
        (
            "calibration:\n  - {step_secnds: 1}\n",
            "run.yaml:5: calibration: unknown column 'step_secnds'; did you mean 'step_seconds'?",
        ),
        (
            "calibration:\n  - {step_seconds: soon}\n",
            "run.yaml:5: calibration.step_seconds: expected a number above 0, not 'soon'",
        ),
        ("calibration:\n  - {micro_batch: 8}\n", "run.yaml:5: calibration.step_seconds: is missing"),
        ("calibration: [1]\n", "run.yaml:4: calibration.runs: expected the keys of a run, not 1"),
    ],
)
def test_faults_are_reported_with_the_specifications_lines(calibration: str, message: str) -> None:
    """The error gives the key, the line, the expected value and the nearest known name."""
    with pytest.raises(SpecificationError) as caught:
        read(calibration)
    assert message in str(caught.value)
