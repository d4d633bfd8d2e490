"""A review in the terminal: each finding with its place, the code that it means, and what to do."""

import textwrap
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from flyball_planner.audit.finding import Finding, Severity
from flyball_planner.audit.fix import safely_fixable
from flyball_planner.audit.report.frame import Frame, frame
from flyball_planner.audit.report.words import changes, counted, sure, together
from flyball_planner.audit.review import Review

COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_GUTTER = 10  # columns beside the code: line numbers, bar, spaces
_NAMES = 12  # columns before what is told
_LEAST_CODE = 40  # columns of code, also in a narrow terminal


def terminal(review: Review, width: int, *, verbose: bool = False) -> RenderableType:
    """Errors and warnings in full; notes in a line each, unless all is wanted."""
    full = [each for each in review.findings if verbose or each.severity is not Severity.NOTE]
    brief = [each for each in review.findings if each not in full]
    shown: list[RenderableType] = [_finding(review, each, width) for each in full]
    if brief:
        shown += [_notes(brief), Text()]
    for each in (*review.unreadable, *review.failures):
        shown.append(Text(f"not read: {_clean(str(each))}", style="red"))
    return Group(*shown, *_summary(review, bool(brief)))


def _finding(review: Review, finding: Finding, width: int) -> RenderableType:
    head = Text(_clean(finding.place), style="bold")
    head.append(": ").append(finding.severity.value, style=f"bold {COLOURS[finding.severity]}")
    head.append(f" [{finding.rule}] ").append(_clean(finding.message), style="bold")
    around = frame(finding, review.source.get(finding.path), max(_LEAST_CODE, width - _GUTTER))
    code = [_code(around, COLOURS[finding.severity])] if around else []
    told = [_told(name, words, width) for name, words in _words(finding)]
    return Group(head, *code, *told, Text())


def _told(name: str, words: str, width: int) -> Text:
    lines = textwrap.wrap(_clean(words), max(_LEAST_CODE, width - _NAMES), break_on_hyphens=False)
    return Text(f"  {name:<{_NAMES - 2}}", style="dim").append(f"\n{' ' * _NAMES}".join(lines), style="default not dim")


def _words(finding: Finding) -> Iterator[tuple[str, str]]:
    yield "because", finding.because
    yield "change", finding.change + (" (--fix does it)" if safely_fixable(finding) else "")
    yield "expected", finding.expected
    yield "sure", sure(finding).removesuffix(" sure")


def _code(around: Frame, colour: str) -> RenderableType:
    lines = Text(no_wrap=True, overflow="crop")
    for number, (left, right) in enumerate(around.rows()):
        lines.append(f"  {left} │ ", style="dim")
        lines.append(f"{right}\n", style=colour if number == around.marked + 1 else "")
    lines.rstrip()
    return lines


def _notes(notes: list[Finding]) -> RenderableType:
    told = Table.grid(padding=(0, 2, 0, 0))
    told.add_column(no_wrap=False, overflow="fold")
    told.add_column()
    for each in notes:
        words = Text(f"{each.rule}: ", style=COLOURS[Severity.NOTE])
        told.add_row(Text(_clean(each.place), style="bold"), words.append(_clean(each.message), style="default"))
    return told


def _summary(review: Review, brief: bool) -> Iterator[RenderableType]:
    for each in review.mended:
        yield Text(f"changed {_clean(each.place)}: {each.rule}", style="green")
    if review.withdrawn:
        yield Text(f"{len(review.withdrawn)} withdrawn: measurements contradict them (--format json says which)")
    worst = max((each.severity for each in review.findings), key=lambda each: each.rank, default=None)
    yield Text(f"{counted(review)}.", style=f"bold {COLOURS[worst] if worst else 'green'}")
    if (estimate := review.estimate()) is not None:
        yield Text(f"All changes together: {together(estimate)}.")
    if told := changes(review.findings):
        yield Text(f"{told}.")
    if brief:
        yield Text("Notes are worth a look; -v shows them in full, --evidence FILE weighs them by measurements.")


def _clean(text: str) -> str:
    """In one line, without what would steer a terminal."""
    return "".join(character if character.isprintable() else "�" for character in text)
