"""Selects advice and ranks it."""

from collections.abc import Iterable, Mapping

from flyball_collector.advice.advice import Advice
from flyball_collector.advice.rule import Rule
from flyball_collector.diagnosis.kinds import Severity


def without_superseded(advice: Iterable[Advice], rules: Mapping[str, Rule]) -> list[Advice]:
    """Leave out advice if a more specific rule applies to the same host or run: their shares overlap."""
    candidates = list(advice)
    places = {(one.rule, _place(one)) for one in candidates}
    return [
        one
        for one in candidates
        if not any((name, _place(one)) in places for name in (rules[one.rule].yields_to if one.rule in rules else ()))
    ]


Rank = tuple[int, float, str, tuple[str, ...]]


def ranked(advice: Iterable[Advice]) -> tuple[Advice, ...]:
    """Sort advice, most urgent first."""
    return tuple(sorted(advice, key=rank))


def rank(one: Advice) -> Rank:
    """Return the sort key: threats to the run first, worst first; then time saved × confidence ÷ effort."""
    return -_urgency(one), -one.worth, one.rule, tuple(map(str, one.subject))


def _urgency(one: Advice) -> int:
    return int(one.severity) if one.gain is None and one.severity > Severity.INFO else 0


def _place(one: Advice) -> tuple[str, str]:
    return (one.subject.host, "") if one.subject.host else ("", one.subject.run)
