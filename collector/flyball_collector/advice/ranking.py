"""Which advice to give, and in which order."""

from collections.abc import Iterable, Mapping

from flyball_collector.advice.advice import Advice
from flyball_collector.advice.rule import Rule
from flyball_collector.diagnosis.kinds import Severity


def leaves_only(advice: Iterable[Advice], rules: Mapping[str, Rule]) -> list[Advice]:
    """Without advice that another one about the same host or run says more precisely: shares overlap."""
    given = list(advice)
    places = {(one.rule, _place(one)) for one in given}
    return [
        one
        for one in given
        if not any((leaf, _place(one)) in places for leaf in (rules[one.rule].leaves if one.rule in rules else ()))
    ]


Rank = tuple[int, float, str, tuple[str, ...]]


def ranked(advice: Iterable[Advice]) -> tuple[Advice, ...]:
    """The most urgent first."""
    return tuple(sorted(advice, key=rank))


def rank(one: Advice) -> Rank:
    """What threatens the run first, worst first; then by recoverable time × confidence ÷ effort."""
    return -_urgency(one), -one.worth, one.rule, tuple(map(str, one.subject))


def _urgency(one: Advice) -> int:
    return int(one.severity) if one.gain is None and one.severity > Severity.INFO else 0


def _place(one: Advice) -> tuple[str, str]:
    return (one.subject.host, "") if one.subject.host else ("", one.subject.run)
