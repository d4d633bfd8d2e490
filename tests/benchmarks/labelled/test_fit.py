"""Calibration is fitted to all bottlenecks of episodes that may be tuned on, and to nothing else."""

import json
import tarfile
from importlib.resources import files
from pathlib import Path

import msgspec
import pytest

from tests.benchmarks.labelled.causes.catalogue import BY_NAME, NEW_PAIRS, PAIRS, SEEN_PAIRS, history_of
from tests.benchmarks.labelled.causes.generator import History
from tests.benchmarks.labelled.episode import Recorded
from tests.benchmarks.labelled.fit import fit_to, labelled, may_be_tuned_on
from tests.benchmarks.labelled.label import Label, Use
from tests.benchmarks.labelled.verdict import Blame, Verdict

CPU, DISK, MEMORY, NETWORK, WAIT = (f"bottleneck_{name}" for name in ("cpu", "disk", "memory", "network", "data_wait"))


def pair(
    truth: tuple[tuple[str, ...], ...], generators: tuple[str, ...] = ("spinners",), /, **log_odds: float
) -> tuple[Recorded, Verdict]:
    """An episode, and how its bottlenecks were weighed; whatever it was made by, its file claims to be tuned on."""
    use = Use.SINGLE if truth else Use.QUIET
    weighed = tuple(Blame(f"bottleneck_{kind}", 0.5, odds) for kind, odds in log_odds.items())
    return (
        Recorded("e", 1, generators, (), True, truth, (), (), Label(use, "", {}), 100.0, 110.0),
        Verdict("", (), (), (), {}, "", {}, weighed),
    )


def test_bottlenecks_that_were_not_active_count_too() -> None:
    """The probabilities of absent causes show which ones are too high."""
    found = list(labelled([pair(((CPU,),), cpu=2.0, network=-3.0), pair((), cpu=-2.0)]))
    assert found == [(CPU, 2.0, True), (NETWORK, -3.0, False), (CPU, -2.0, False)]


def test_effects_of_the_true_cause_are_left_out() -> None:
    """Pages are read again where memory is short: the disk is neither to blame nor innocent."""
    assert list(labelled([pair(((MEMORY,),), memory=1.0, disk=1.5, cpu=-1.0)])) == [
        (MEMORY, 1.0, True),
        (CPU, -1.0, False),
    ]


def test_of_several_names_the_likeliest_counts() -> None:
    """A slow name server may be called the network or an unknown wait; the other is left out."""
    assert list(labelled([pair(((WAIT, NETWORK),), data_wait=1.0, network=-2.0, disk=-3.0)])) == [
        (WAIT, 1.0, True),
        (DISK, -3.0, False),
    ]


SCORED_ONLY = sorted(g.name for g in BY_NAME.values() if g.history is not History.TUNED)


@pytest.mark.parametrize("name", SCORED_ONLY)
def test_no_recording_of_another_generator_enters_the_fit(name: str, tmp_path: Path) -> None:
    """Neither alone nor in a mixture, whatever its file claims; nothing is written then."""
    for generators in ((name,), ("spinners", name)):
        recorded, verdict = pair(((CPU,),), generators, cpu=2.0)
        assert may_be_tuned_on([recorded]) == []
        with pytest.raises(ValueError, match="only for scoring"):
            fit_to([pair(((CPU,),), cpu=2.0), (recorded, verdict)], tmp_path / "calibration.json", ["1"])
    assert not (tmp_path / "calibration.json").exists()


def test_a_fit_names_what_it_was_fitted_to(tmp_path: Path) -> None:
    """Seeds, generators and the number of episodes, each counted once."""
    one = pair(((CPU,),), ("spinners", "latency"), cpu=2.0)
    recorded, verdict = pair((), ("nothing",), cpu=-2.0)
    fit_to([one, one, (msgspec.structs.replace(recorded, seed=2), verdict)], tmp_path / "calibration.json", ["7", "8"])
    origin = json.loads((tmp_path / "calibration.json").read_text())["fitted_to"]
    assert origin == {"seeds": ["7", "8"], "generators": ["latency", "nothing", "spinners"], "episodes": 2}


def test_the_shipped_calibration_was_fitted_to_tuned_generators_alone() -> None:
    """Its file names them, and the recordings that it was fitted to are those that are kept."""
    data = files("flyball_collector.diagnosis.scores").joinpath("calibration.json").read_text()
    origin = json.loads(data)["fitted_to"]
    assert origin["episodes"] > 100
    assert {BY_NAME[name].history for name in origin["generators"]} == {History.TUNED}
    kept = {path.name.split("-")[1].split(".")[0] for path in Path(__file__).parent.glob("tuning-*.tar.xz")}
    assert set(origin["seeds"]) <= kept


def test_kept_recordings_hold_nothing_that_must_not_be_tuned_on() -> None:
    """Each episode of each archive is made of generators that may be."""
    for path in Path(__file__).parent.glob("tuning-*.tar.xz"):
        with tarfile.open(path) as archive:
            names = [name for name in archive.getnames() if name.endswith(".json")]
        made_of = {tuple(name.removesuffix(".json").split("-", 1)[1].split("+")) for name in names}
        assert made_of
        assert {history_of(generators) for generators in made_of} == {History.TUNED}


def test_mixtures_are_as_new_as_their_newest_part() -> None:
    """One part that was never used makes a mixture that was never used."""
    assert {history_of(names) for names in PAIRS} == {History.TUNED}
    assert {history_of(names) for names in SEEN_PAIRS} == {History.SEEN}
    assert {history_of(names) for names in NEW_PAIRS} == {History.NEVER}
