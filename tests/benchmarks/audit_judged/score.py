"""How findings compare with what was judged: pure, on places alone."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from flyball_audit.finding import Finding, Severity
from tests.benchmarks.audit_judged.cases import Case, Fault, Place
from tests.benchmarks.labelled.wilson import Share

LINES = 2
"""A finding this near to a fault's line has found it."""


@dataclass(frozen=True)
class Spot:
    """A finding without its words; its path is the case's own."""

    rule: str
    place: Place
    warns: bool

    @property
    def words(self) -> str:
        """For a person who looks it up."""
        cell = f":cell {self.place.cell}" if self.place.cell is not None else ""
        return f"{self.rule} at {self.place.path}{cell}:{self.place.line}"


def spots(findings: Iterable[Finding], root: str) -> tuple[Spot, ...]:
    """Findings with their paths as the list writes them."""
    return tuple(
        Spot(each.rule, Place(each.path.removeprefix(root).lstrip("/"), each.cell, each.line), warns(each))
        for each in findings
    )


def warns(finding: Finding) -> bool:
    """Whether it is at warning level: what a reviewer would say aloud."""
    return finding.severity is not Severity.NOTE


@dataclass(frozen=True)
class Score:
    """What was found of one case, or of many."""

    found: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()
    confirmed_found: int = 0
    confirmed: int = 0
    right: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    """Warnings that nobody has judged: they count as wrong until somebody has."""
    gone: tuple[str, ...] = ()
    stayed: tuple[str, ...] = field(default=())
    """Faults that are reported although their authors had mended them."""

    @property
    def recall(self) -> Share:
        """Of all labelled faults."""
        return Share(len(self.found), len(self.found) + len(self.missed))

    @property
    def recall_of_confirmed(self) -> Share:
        """Of those that a thread tells of."""
        return Share(self.confirmed_found, self.confirmed)

    @property
    def precision(self) -> Share:
        """Of all warnings."""
        return Share(len(self.right), len(self.right) + len(self.wrong) + len(self.unjudged))

    @property
    def mended(self) -> Share:
        """Of the faults whose mended files are at hand."""
        return Share(len(self.gone), len(self.gone) + len(self.stayed))


def score(case: Case, told: Sequence[Spot], told_when_fixed: dict[str, Sequence[Spot]]) -> Score:
    """One case: what was told of it, and of its files in the revisions in which faults had been mended."""
    met = [fault for fault in case.faults if _meets(fault, told)]
    warnings = [spot for spot in told if spot.warns]
    verdicts = [_verdict(case, spot) for spot in warnings]
    fixed = [fault for fault in case.faults if fault.fixed in told_when_fixed]
    gone = [fault for fault in fixed if not _still(fault, told_when_fixed[fault.fixed])]
    return Score(
        found=_named(case, met),
        missed=_named(case, [fault for fault in case.faults if fault not in met]),
        confirmed_found=sum(bool(fault.confirmed) for fault in met),
        confirmed=sum(bool(fault.confirmed) for fault in case.faults),
        right=_told(case, warnings, verdicts, True),
        wrong=_told(case, warnings, verdicts, False),
        unjudged=_told(case, warnings, verdicts, None),
        gone=_named(case, gone),
        stayed=_named(case, [fault for fault in fixed if fault not in gone]),
    )


def _meets(fault: Fault, told: Iterable[Spot]) -> bool:
    return any(spot.rule == fault.rule and place.near(spot.place, LINES) for spot in told for place in fault.places)


def _still(fault: Fault, told: Iterable[Spot]) -> bool:
    mended = Place.of(fault.fixed_at)
    return any(spot.rule == fault.rule and mended.near(spot.place, LINES) for spot in told)


def _verdict(case: Case, spot: Spot) -> bool | None:
    """A warning on a labelled fault is right; another is what was judged of it, unknown until then."""
    if any(_meets(fault, [spot]) for fault in case.faults):
        return True
    said = [each.right for each in case.verdicts if each.rule == spot.rule and Place.of(each.at) == spot.place]
    return said[0] if said else None


def _named(case: Case, faults: Iterable[Fault]) -> tuple[str, ...]:
    return tuple(f"{case.repository}: {fault.rule} at {fault.at[0]}" for fault in faults)


def _told(
    case: Case, warnings: Sequence[Spot], verdicts: Sequence[bool | None], wanted: bool | None
) -> tuple[str, ...]:
    pairs = zip(warnings, verdicts, strict=True)
    return tuple(f"{case.repository}: {spot.words}" for spot, verdict in pairs if verdict is wanted)


def together(scores: Iterable[Score]) -> Score:
    """Many as one."""
    every = list(scores)
    return Score(
        found=tuple(name for each in every for name in each.found),
        missed=tuple(name for each in every for name in each.missed),
        confirmed_found=sum(each.confirmed_found for each in every),
        confirmed=sum(each.confirmed for each in every),
        right=tuple(name for each in every for name in each.right),
        wrong=tuple(name for each in every for name in each.wrong),
        unjudged=tuple(name for each in every for name in each.unjudged),
        gone=tuple(name for each in every for name in each.gone),
        stayed=tuple(name for each in every for name in each.stayed),
    )
