"""A measurement goes from boundary to boundary, and its file is read by the audit."""

import os
from pathlib import Path

import pytest

from flyball.captures.sync_calls import SyncCalls
from flyball.hooks.measuring import Order, measure_if_asked
from flyball.measuring import measurement as measurement_module
from flyball.measuring.evidence_text import evidence_yaml
from flyball.measuring.measurement import Measured, Measurement
from flyball.training.opening import run
from flyball.training.run import Run
from flyball_audit.evidence import load_evidence, read_evidence
from flyball_audit.facts import FACTS


@pytest.fixture(name="training")
def _training(monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("FLYBALL_SOCKET", "/none")
    monkeypatch.delenv("RANK", raising=False)
    return run("a run")


def train(training: Run, steps: int) -> None:
    """Do steps with a wait each."""
    for _ in training.data(range(steps)):
        training.step(samples=2)


def test_the_steps_are_measured_from_boundary_to_boundary(training: Run) -> None:
    """As many as were asked for, after the warm-up."""
    measurement = Measurement(30, SyncCalls())
    ends: list[int] = []

    def boundary(found: Run) -> None:
        if measurement.boundary(found):
            ends.append(found.last_step)
        else:
            found.at_boundary(boundary)

    train(training, 10)
    training.at_boundary(boundary)
    train(training, 60)
    measured = measurement.result(training)
    assert measured is not None
    assert ends == [41]
    assert measured.steps == 30
    assert measured.measured_on.endswith("steps 12 to 41 of run a run")
    assert 0 < measured.facts["data_wait_ratio"] < 1
    (note,) = measured.notes
    assert note.startswith("synchronising calls: not measured: CUDA is not initialised in this process")
    assert read_evidence(evidence_yaml(measured)).waits is None


def test_a_leak_is_measured(training: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The resident memory is read after each step."""
    readings = iter(range(10**8, 10**9, 50_000))
    monkeypatch.setattr(measurement_module, "resident_bytes", lambda: next(readings))
    measurement = Measurement(30, SyncCalls())
    for _ in range(31):
        train(training, 1)
        measurement.boundary(training)
    measured = measurement.result(training)
    assert measured is not None
    assert measured.facts["host_memory_growth_bytes_per_step"] == pytest.approx(50_000)


def test_the_memory_of_this_process_is_read() -> None:
    """In bytes, from the kernel."""
    found = measurement_module.resident_bytes()
    assert found is not None
    assert 10**6 < found < 10**12


def test_a_run_that_ends_before_the_first_step_has_no_result(training: Run) -> None:
    """Neither without any boundary nor after the first."""
    measurement = Measurement(30, SyncCalls())
    assert measurement.result(training) is None
    train(training, 1)
    assert not measurement.boundary(training)
    assert measurement.result(training) is None


def test_the_audit_reads_every_fact() -> None:
    """The names are the audit's, odd texts do no harm, and comments hold what it does not use."""
    facts = {fact.name: 0.125 for fact in FACTS if not fact.name.startswith(("tensor", "conv", "att"))}
    facts = {name: value for name, value in facts.items() if name not in {"compute_ratio", "loss_spikes"}}
    place = 'no"de\n: #1, ä'
    text = evidence_yaml(Measured(place, 50, facts, ["call x\nfacts: 1", "b"]))
    found = read_evidence(text)
    assert {name: measured.value for name, measured in found.facts.items()} == facts
    assert {measured.on for measured in found.facts.values()} == {place}
    assert "# call x facts: 1\n# b\n" in text
    assert read_evidence(evidence_yaml(Measured("here", 5, {}, []))).facts == {}


@pytest.mark.parametrize(("steps", "written"), [(5 + 1 + 20, 20), (5 + 1 + 8, 8), (5 + 1 + 3, 0)])
def test_the_file_is_written_when_the_steps_are_over_or_the_process_ends(
    training: Run, tmp_path: Path, steps: int, written: int
) -> None:
    """After five steps of warm-up; fewer than five measured ones are not worth a file."""
    path = tmp_path / "evidence.yaml"
    order = Order(Measurement(20, SyncCalls()), str(path))
    training.at_boundary(order)
    train(training, steps)
    assert path.exists() == (written == 20)
    order.end_early(training, os.getpid())
    assert path.exists() == (written > 0)
    if written:
        assert f"Measured in {written} steps" in path.read_text()
        assert load_evidence(path).facts
    assert [each.name for each in tmp_path.iterdir()] == (["evidence.yaml"] if written else [])


@pytest.mark.parametrize(
    ("variables", "asked"),
    [
        ({"FLYBALL_MEASURE": "3", "FLYBALL_EVIDENCE": "e.yaml"}, True),
        ({"FLYBALL_MEASURE": "3"}, False),
        ({"FLYBALL_EVIDENCE": "e.yaml"}, False),
        ({"FLYBALL_MEASURE": "many", "FLYBALL_EVIDENCE": "e.yaml"}, False),
        ({"FLYBALL_MEASURE": "3", "FLYBALL_EVIDENCE": "e.yaml", "RANK": "1", "WORLD_SIZE": "2"}, False),
    ],
)
def test_rank_0_measures_if_it_is_asked(
    variables: dict[str, str], asked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the variables that the command line sets."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FLYBALL_SOCKET", "/none")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with run("asked") as training:
        measure_if_asked(training)
        train(training, 20)
    assert (tmp_path / "e.yaml").exists() == asked


class Waits:
    """Sees the places where each step waits for a GPU, which a test plays."""

    def __init__(self, *places: str) -> None:
        self.places, self.steps = places, 0
        self.seeing = False

    def begin(self) -> None:
        """Begin to count."""
        self.seeing = True

    def end(self) -> dict[str, int]:
        """Return the places with their calls."""
        self.seeing = False
        return dict.fromkeys(self.places, self.steps)


@pytest.mark.parametrize("place", ['/home/a "b"/train.py', None])
def test_places_that_wait_for_the_gpu_are_counted_after_the_steps(training: Run, place: str | None) -> None:
    """In five more steps, and the audit reads them; none was seen is not the same as not measured."""
    waits = Waits(f"{place}:14") if place else Waits()
    measurement, ended = Measurement(8, waits), False
    while not ended:
        train(training, 1)
        waits.steps += waits.seeing
        ended = measurement.boundary(training)
    assert waits.steps == 5
    assert not waits.seeing
    measured = measurement.result(training)
    assert measured is not None
    assert measured.steps == 8
    assert read_evidence(evidence_yaml(measured)).waits == ({f"{place}:14": 1.0} if place else {})


def test_a_measurement_that_ends_early_switches_everything_off(training: Run) -> None:
    """While it counts waits for the GPU, too."""
    waits = Waits("train.py:14")
    measurement = Measurement(2, waits)
    for _ in range(5):
        train(training, 1)
        waits.steps += waits.seeing
        measurement.boundary(training)
    before = waits.seeing
    measured = measurement.result(training)
    assert (before, waits.seeing) == (True, False)
    assert measured is not None
    assert measured.waits is not None
    assert 0 < measured.waits["train.py:14"] <= 1
