"""A review as lines for a terminal: each finding with its place, the code that it means, and what to do."""

import textwrap
from collections.abc import Iterator
from typing import NamedTuple

from flyball_audit.finding import Finding, Severity
from flyball_audit.fix import safely_fixable
from flyball_audit.report.frame import Frame, frame
from flyball_audit.report.words import changes, counted, together
from flyball_audit.review import Review
from flyball_reports.figures import percent, plural

COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_NAMES = 13  # columns before what is told
_GUTTER = 10  # columns beside the code: line numbers, bar, spaces
_LEAST = 40  # columns of code and words, also in a narrow terminal


class Span(NamedTuple):
    """Text in one style: words of Rich, none for plain."""

    text: str
    style: str = ""


Line = tuple[Span, ...]
_EMPTY: Line = (Span(""),)


def terminal(review: Review, width: int, *, verbose: bool = False) -> Iterator[Line]:
    """Errors and warnings in full; notes in a line each, unless all is wanted."""
    full = [each for each in review.findings if verbose or each.severity is not Severity.NOTE]
    brief = [each for each in review.findings if not verbose and each.severity is Severity.NOTE]
    for each in full:
        yield from _finding(review, each, width)
        yield _EMPTY
    yield from map(_head, brief)
    if brief:
        yield _EMPTY
    yield from _summary(review, has_brief=bool(brief))


def plain(lines: Iterator[Line]) -> str:
    """The lines without their styles."""
    return "".join("".join(span.text for span in line).rstrip() + "\n" for line in lines)


def _finding(review: Review, finding: Finding, width: int) -> Iterator[Line]:
    yield _head(finding)
    around = frame(finding, review.source.get(finding.path), max(_LEAST, width - _GUTTER))
    yield from _code(around, COLOURS[finding.severity]) if around else ()
    yield from _told("cause", finding.because, width)
    yield from _told(
        "change", finding.change + (" (--fix writes this change)" if safely_fixable(finding) else ""), width
    )
    yield from _told("expected", finding.expected, width)
    yield from _told("confidence", percent(finding.confidence), width)


def _head(finding: Finding) -> Line:
    return (
        Span(_clean(finding.place), "bold"),
        Span(": "),
        Span(finding.severity.value, f"bold {COLOURS[finding.severity]}"),
        Span(f" [{finding.rule}] "),
        Span(_clean(finding.message), "" if finding.severity is Severity.NOTE else "bold"),
    )


def _told(name: str, words: str, width: int) -> Iterator[Line]:
    lines = textwrap.wrap(_clean(words), max(_LEAST, width - _NAMES), break_on_hyphens=False)
    for number, line in enumerate(lines):
        yield (Span(f"  {name if not number else '':<{_NAMES - 2}}", "dim"), Span(line))


def _code(around: Frame, colour: str) -> Iterator[Line]:
    for number, (left, right) in enumerate(around.rows()):
        yield (Span(f"  {left} │ ", "dim"), Span(right, colour if number == around.marked + 1 else ""))


def _summary(review: Review, *, has_brief: bool) -> Iterator[Line]:
    for unread in (*review.unreadable, *review.failures):
        yield (Span(f"skipped: {_clean(str(unread))}", "red"),)
    for fixed in review.fixed:
        yield (Span(f"fixed {_clean(fixed.place)}: {fixed.rule}", "green"),)
    if review.withdrawn:
        yield (
            Span(
                f"{plural(len(review.withdrawn), 'finding')} withdrawn because measurements contradict them "
                "(--format json lists them)"
            ),
        )
    worst = max((each.severity for each in review.findings), key=lambda each: each.rank, default=None)
    yield (Span(f"{counted(review)}.", f"bold {COLOURS[worst] if worst else 'green'}"),)
    if (estimate := review.estimate()) is not None:
        yield (Span(f"All changes together: {together(estimate)}."),)
    if told := changes(review.findings):
        yield (Span(f"{told}."),)
    if has_brief:
        yield (
            Span(
                "Notes are worth checking. Show them in full with -v; confirm or withdraw them with "
                "measurements (--evidence FILE)."
            ),
        )


def _clean(text: str) -> str:
    """In one line, without what would steer a terminal."""
    return "".join(character if character.isprintable() else "�" for character in text)
