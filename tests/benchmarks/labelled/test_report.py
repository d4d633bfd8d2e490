"""The page lists scores with their goals and shows wrong answers."""

from pathlib import Path

from tests.benchmarks.labelled.episode import Recorded
from tests.benchmarks.labelled.label import Label, Use
from tests.benchmarks.labelled.report import CONFORMANCE_TESTS, Steady, figures, page
from tests.benchmarks.labelled.score import Pair
from tests.benchmarks.labelled.verdict import Blame, Verdict

WORDS = {"full": 10, "harm": 0.1, "same": 0.05, "base": 0.5, "seed": 42, "machine": "a machine", "when": "2030-01-01"}
DISK, CPU = "bottleneck_disk", "bottleneck_cpu"


def pair(name: str, generator: str, cause: str, truth: str, answer: str) -> Pair:
    """Make an episode of one cause, or a quiet one, with the answer of the diagnosis."""
    use = Use.SINGLE if truth else Use.QUIET
    gains = {generator: (1.5, 1.6)} if truth else {}
    kinds = ((truth,),) if truth else ()
    recorded = Recorded(
        name,
        1,
        (generator,),
        (cause,),
        generator != "stress-hdd",
        kinds,
        ("strong",),
        (),
        Label(use, "", gains),
        100,
        110,
    )
    active = (Blame(answer, 0.9, 2.2),) if answer else ()
    ever = (answer,) if answer else ()
    return recorded, Verdict(answer, active, ever, (), dict.fromkeys(ever, 7.0), "cpu", {"cpu": 0.9})


PAIRS = [
    pair("0001-cold-reads", "cold-reads", "disk", DISK, DISK),
    pair("0002-stress-hdd", "stress-hdd", "disk", DISK, CPU),
    pair("0003-nothing", "nothing", "quiet", "", ""),
]


def test_the_page_shows_both_sides_and_what_was_wrong() -> None:
    """Full diagnosis beside base formula; generators never tuned on are marked; each mistake has a line."""
    text = page(PAIRS, [Steady("10 ms more", 10.0, (DISK, CPU, DISK))], 4, WORDS)
    assert "**42**" in text
    assert "| single causes: named first | 50.0% (1/2; 9.5% … 90.5%) |" in text
    assert "| quiet: nothing reported | 100.0% (1/1; 20.7% … 100.0%) | ≥ 99% | 0.0% (0/1;" in text
    assert "| stress-hdd | disk | **never** | 0.0% (0/1" in text
    assert "| disk | 1 | 1 |" in text
    assert "| 0002-stress-hdd | strong | ×1.50 | cpu 90% |" in text
    assert "| disk | 1 of 2 | 7 s | 7 s |" in text
    assert "| 10 ms more | 10 | disk, cpu, disk | 2 |" in text
    assert "4 more were recorded and dropped" in text


def test_figures_are_judged_by_their_lower_bounds() -> None:
    """One of one does not prove 95 %."""
    found = {figure.name: figure for figure in figures(PAIRS[:1], [], 0)}
    assert found["single causes named first"].met is False
    many = {figure.name: figure for figure in figures(PAIRS[:1] * 100, [Steady("x", 10, (DISK,))], 0)}
    assert many["single causes named first"].met is True
    assert many["episodes scored"].met is False
    assert many["changes of primary in 10 min, x"].met is True


def test_the_conformance_cases_exist() -> None:
    """A page must not promise tests that were moved away."""
    root = Path(__file__).parents[3]
    assert all((root / path).is_file() for path in CONFORMANCE_TESTS.values())
