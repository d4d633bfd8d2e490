"""The page lists scores with their goals and shows wrong answers."""

from pathlib import Path

from tests.benchmarks.labelled.column import WAYS, Column
from tests.benchmarks.labelled.episode import Recorded
from tests.benchmarks.labelled.label import Label, Use
from tests.benchmarks.labelled.report import CONFORMANCE_TESTS, figures, page
from tests.benchmarks.labelled.score import Pair
from tests.benchmarks.labelled.tables import Steady
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
        True,
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
    pair("0002-io-limit", "io-limit", "disk", DISK, CPU),
    pair("0003-nothing", "nothing", "quiet", "", ""),
]


def columns(client: list[Pair], alone: list[Pair]) -> list[Column]:
    """The same episodes with the client and without reports."""
    by_reports = {way.reports: way for way in WAYS}
    return [Column(by_reports["client"], client), Column(by_reports["none"], alone)]


def test_the_page_shows_each_way_of_reporting_and_what_was_wrong() -> None:
    """Beside the base formula; generators never used before are marked; each mistake has a line."""
    alone = [*PAIRS[1:], pair("0001-cold-reads", "cold-reads", "disk", DISK, "")]
    text = page(columns(PAIRS, alone), [Steady("10 ms more", 10.0, (DISK, CPU, DISK))], 4, WORDS)
    assert "**42**" in text
    assert "|  | client | no reports | base formula |" in text
    single = "| single causes: named first | 50.0% (1/2; 9.5% … 90.5%) | 0.0% (0/2; 0.0% … 65.8%) | 0.0% (0/2;"
    assert single in text
    assert "| … of generators never used before | 0.0% (0/1; 0.0% … 79.3%) | 0.0% (0/1;" in text
    assert "| quiet: nothing reported | 100.0% (1/1; 20.7% … 100.0%) |" in text
    assert "| io-limit | disk | **never** used before | 0.0% (0/1" in text
    assert "| cold-reads | disk | tuned on | 100.0% (1/1; 20.7% … 100.0%) | 0.0% (0/1" in text
    assert "| disk | 1 | 1 |" in text
    assert "| 0002-io-limit | strong | ×1.50 | cpu 90% | cpu 90% |" in text
    assert "| 0001-cold-reads | strong | ×1.50 | right | nothing |" in text
    assert "| disk | 1 of 2, 7 s, 7 s |  |" in text
    assert "| 10 ms more | 10 | disk, cpu, disk | 2 |" in text
    assert "3 episodes are scored; 4 more were recorded and dropped" in text


def test_columns_that_were_recorded_live_are_marked() -> None:
    """They are other episodes than those of the other columns."""
    client, alone = columns(PAIRS, PAIRS)
    live = Column(next(way for way in WAYS if way.reports == "hooks"), PAIRS[:2], live=True)
    text = page([client, live, alone], [], 0, WORDS)
    assert "| client | `flyball run`, live | no reports |" in text
    assert "- **`flyball run`, live**: `flyball run -- COMMAND` alone, without a line in the code (2 episodes)" in text
    assert "are other episodes" in text
    assert "are other episodes" not in page([client, alone], [], 0, WORDS)


def test_figures_name_their_condition_and_are_judged_by_lower_bounds() -> None:
    """One of one does not prove 95 %; without reports, the share itself is judged."""
    found = {figure.name: figure for figure in figures(columns(PAIRS[:1], PAIRS[:1]), [], 0)}
    assert found["client: single causes named first"].met is False
    assert found["no reports: single causes named first"].met is True
    many = {f.name: f for f in figures(columns(PAIRS[:1] * 100, PAIRS[1:]), [Steady("x", 10, (DISK,))], 0)}
    assert many["client: single causes named first"].met is True
    assert many["no reports: single causes named first"].met is False
    assert many["changes of primary in 10 min, x"].met is True


def test_the_conformance_cases_exist() -> None:
    """A page must not promise tests that were moved away."""
    root = Path(__file__).parents[3]
    assert all((root / path).is_file() for path in CONFORMANCE_TESTS.values())
