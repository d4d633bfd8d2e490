"""The answers about the diagnosis of a host or a run."""

import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from flyball_collector.advice.advice import Advice
from flyball_collector.diagnosis.kinds import BOTTLENECKS, BY_NAME, Group
from flyball_collector.exporter.diagnosis.snapshot import DiagnosisSnapshot
from flyball_collector.timeline.entry import Entry
from flyball_collector.timeline.entry_answer import EntryAnswer, entry_answer
from flyball_collector.times import Moment

_PREFIX = "bottleneck_"
_OF_USE = 0.01
"""The weight of a score that is use, compared with one that is lost time."""

_MEANINGS = {kind.name.removeprefix(_PREFIX): kind.meaning for kind in BOTTLENECKS}


class ScoreAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A bottleneck and its score. Null is unknown. Only raised bottlenecks have a confidence."""

    bottleneck: str
    meaning: str
    score: float | None
    raised: bool
    confidence: float | None
    explained_by: str | None  # it would be raised without an active condition of this kind


class AdviceAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Advice. Gains of several pieces overlap and must not be added."""

    rule: str
    host: str | None
    gpu: str | None
    gpu_index: int | None  # for people; `gpu` identifies it
    run: str | None
    rank: int | None
    resource: str | None
    change: str
    because: str
    evidence: dict[str, float]
    proposed: dict[str, float]
    gain_low: float | None  # factor of speed, 1 is none; null: it prevents or repairs
    gain_high: float | None
    confidence: float
    severity: str
    effort: str  # setting, code, rework, hardware
    safety: str  # A0: for people only; A1: changes no result; A2: with consent
    changes_results: bool
    needs_consent: bool
    caution: str
    source: str
    conditions: list[str]
    tried: str  # what an adjustment of the same kind brings or brought on this run; empty: nothing was tried


class HostBrief(msgspec.Struct, frozen=True, kw_only=True):
    """A host of a run."""

    host: str
    primary: str | None


class DiagnosisAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The diagnosis of one host or run."""

    host: str | None
    run: str | None
    time: Moment
    primary: str | None  # the raised bottleneck that limits it most
    base_scores: dict[str, float | None]  # utilisation, for orientation; not calibrated
    scores: list[ScoreAnswer]
    conditions: list[EntryAnswer]  # the worst first, including risks
    risks: list[EntryAnswer]  # the soonest first
    advice: list[AdviceAnswer]
    hosts: list[HostBrief]  # of a run
    runs: list[str]  # of a host


def advice_answer(advice: Advice, tried: str = "") -> AdviceAnswer:
    """Return the answer for a piece of advice, and for what was tried."""
    about, gain = advice.subject, advice.gain
    return AdviceAnswer(
        rule=advice.rule,
        host=about.host or None,
        gpu=about.gpu or None,
        gpu_index=advice.gpu_index,
        run=about.run or None,
        rank=about.rank,
        resource=about.resource or None,
        change=advice.change,
        because=advice.because,
        evidence=_numbers(advice.evidence),
        proposed=_numbers(advice.proposed),
        gain_low=round(gain.lower, 3) if gain else None,
        gain_high=round(gain.upper, 3) if gain else None,
        confidence=round(advice.confidence, 3),
        severity=advice.severity.word,
        effort=advice.effort.name.lower(),
        safety=advice.safety.value,
        changes_results=advice.changes_results,
        needs_consent=advice.needs_consent,
        caution=advice.caution,
        source=advice.source,
        conditions=list(advice.conditions),
        tried=tried,
    )


def risks_of(entries: Iterable[Entry]) -> list[EntryAnswer]:
    """Return the risks, the soonest first."""
    risks = [entry for entry in entries if (kind := BY_NAME.get(entry.kind)) and kind.group is Group.RISK]
    risks.sort(key=lambda entry: math.inf if entry.seconds_left is None else entry.seconds_left)
    return [entry_answer(entry) for entry in risks]


def scores_of(found: Sequence[DiagnosisSnapshot], entries: Iterable[Entry]) -> list[ScoreAnswer]:
    """Return every bottleneck with a score, the largest first. For several hosts it is the mean of the known values."""
    raised: dict[str, float] = {}
    shares: dict[str, float | None] = {}  # of active bottlenecks without a score: that of a run
    for entry in entries:
        if entry.kind.startswith(_PREFIX):
            name = entry.kind.removeprefix(_PREFIX)
            raised[name] = max(entry.confidence or 0.0, raised.get(name, 0.0))
            shares[name] = None if entry.level is None else round(_cost(entry), 3)
    scores = shares | _means([(name, values) for one in found for name, values in one.scores.bottlenecks])
    explained = {name: kind for one in found for name, kind in one.explained}
    names = sorted({*scores, *raised}, key=lambda name: (name not in raised, -(scores.get(name) or 0.0), name))
    return [
        ScoreAnswer(
            bottleneck=name,
            meaning=_MEANINGS.get(name, ""),
            score=scores.get(name),
            raised=name in raised,
            confidence=raised.get(name),
            explained_by=None if name in raised else explained.get(name),
        )
        for name in names
    ]


def base_scores_of(found: Sequence[DiagnosisSnapshot]) -> dict[str, float | None]:
    """Return the four base scores. For several hosts they are means."""
    return _means([(name, values) for one in found for name, values in one.scores.base])


def primary_of(found: Sequence[DiagnosisSnapshot], entries: Iterable[Entry] = ()) -> str | None:
    """Return the bottleneck that costs most: for a run, as a sum over its hosts of what the primary one of each costs.

    A bottleneck of the run as a whole (an entry without a host) costs every host. Equal ones are ordered by name.
    """
    costs: dict[str, float] = {}
    for one in found:
        scores = dict(one.scores.bottlenecks)
        for _, name in one.primary:
            costs[name] = costs.get(name, 0.0) + _weight(name, max(scores.get(name, ()), default=math.nan))
    for entry in entries:
        if entry.kind.startswith(_PREFIX) and not entry.host:
            name = entry.kind.removeprefix(_PREFIX)
            costs[name] = costs.get(name, 0.0) + max(1, len(found)) * _weight(name, _cost(entry))
    return min(costs, key=lambda name: (-costs[name], name)) if costs else None


def _weight(name: str, score: float) -> float:
    """Return what a score counts. The use of a resource, such as a busy GPU, is not lost time."""
    kind = BY_NAME.get(_PREFIX + name)
    known = score if math.isfinite(score) else 0.0
    return known if kind is None or kind.costs_time else known * _OF_USE


def _cost(entry: Entry) -> float:
    """Return the share of the time that a bottleneck costs, times its probability; NaN if unknown."""
    return math.nan if entry.level is None else entry.level * (entry.confidence or 0.0)


def _means(named: Iterable[tuple[str, Iterable[float]]]) -> dict[str, float | None]:
    known: dict[str, list[float]] = {}
    for name, values in named:
        known.setdefault(name, []).extend(float(value) for value in values if math.isfinite(value))
    return {name: round(sum(values) / len(values), 3) if values else None for name, values in known.items()}


def _numbers(values: Mapping[str, float]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items() if math.isfinite(value)}
