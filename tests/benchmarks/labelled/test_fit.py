"""Calibration is fitted to all bottlenecks of an episode, active or not."""

from tests.benchmarks.labelled.episode import Recorded
from tests.benchmarks.labelled.fit import labelled
from tests.benchmarks.labelled.label import Label, Use
from tests.benchmarks.labelled.verdict import Blame, Verdict

CPU, DISK, MEMORY, NETWORK, WAIT = (f"bottleneck_{name}" for name in ("cpu", "disk", "memory", "network", "data_wait"))


def pair(truth: tuple[tuple[str, ...], ...], **log_odds: float) -> tuple[Recorded, Verdict]:
    """An episode, and how its bottlenecks were weighed."""
    use = Use.SINGLE if truth else Use.QUIET
    weighed = tuple(Blame(f"bottleneck_{kind}", 0.5, odds) for kind, odds in log_odds.items())
    return (
        Recorded("e", 1, (), (), True, truth, (), (), Label(use, "", {}), 100.0, 110.0),
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
