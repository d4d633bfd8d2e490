"""What a review says, section by section, for Markdown and for a page; the summary first."""

from collections.abc import Iterable, Iterator

from flyball_audit.amdahl import Part
from flyball_audit.finding import Finding, Severity
from flyball_audit.fix import PatchOf, fixable, safely_fixable
from flyball_audit.report.chart import estimate_chart
from flyball_audit.report.frame import frame
from flyball_audit.report.words import TIMES, by_gain, changes, counted, to_measure, together
from flyball_audit.review import Review
from flyball_reports.figures import percent, plural
from flyball_reports.section import Code, Section, Table

TONES = {Severity.ERROR: "bad", Severity.WARNING: "warning", Severity.NOTE: "plain"}
PLURALS = {Severity.ERROR: "Errors", Severity.WARNING: "Warnings", Severity.NOTE: "Notes"}
ABOUT = {
    Severity.ERROR: "Slow or wrong for certain.",
    Severity.WARNING: "Slow in all likelihood: change them first.",
    Severity.NOTE: "Worth a look. Whether they matter here, a measurement says.",
}
_FIRST = 3  # rules that the summary names
FOOTER = (
    "Made by flyball audit, which reads code and never runs it. Gains come from elsewhere and are upper bounds; "
    "--evidence FILE weighs findings by what was measured on the script itself."
)
_AMDAHL = (
    "Each change shortens one kind of time, and the rest stays (Amdahl's law); of changes that shorten the same time, "
    "only the greatest counts."
)
_ASSUMED = (
    "Shares marked * were not measured: what is left of the step is shared out equally. Measure them, and pass them "
    "with --evidence."
)


def sections(review: Review, patch_of: PatchOf) -> tuple[Section, ...]:
    """All sections that have something to say."""
    found = (
        _summary(review),
        _estimate(review),
        *(each for severity in reversed(Severity) for each in _findings(review, severity, patch_of)),
        _mended(review),
        _withdrawn(review),
        _unread(review),
        _remaining(review),
        _checklist(review),
    )
    return tuple(each for each in found if each.text or each.tables or each.points or each.code)


def _summary(review: Review) -> Section:
    bad = [each for each in review.findings if each.severity is not Severity.NOTE]
    worst = max((each.severity for each in review.findings), key=lambda each: each.rank, default=None)
    estimate = review.estimate()
    rows = [("Found", counted(review))]
    rows += [("Together", together(estimate))] if estimate else []
    rows += (
        [("With the notes", together(noted))] if (noted := review.estimate(Severity.NOTE)) != estimate and noted else []
    )
    rows += [("Changes", told)] if (told := changes(review.findings)) else []
    rows += [("Measured", _measured(review))] if review.evidence else []
    rows += [("Not read", plural(len(review.unreadable), "file or cell"))] if review.unreadable else []
    first = _first(bad)
    tables = (Table(tuple(rows)), *([Table(first, ("first", "change", "where"))] if first else []))
    tone = TONES[worst] if worst else "good"
    return Section("Executive summary", tables=tables, tone="good" if worst is Severity.NOTE else tone)


def _first(findings: Iterable[Finding]) -> tuple[tuple[str, ...], ...]:
    """The most rewarding rules, each with its best place."""
    places: dict[str, list[Finding]] = {}
    for each in by_gain(findings):
        places.setdefault(each.rule, []).append(each)
    best = list(places.items())[:_FIRST]
    more = {rule: f" and {len(found) - 1} more" if len(found) > 1 else "" for rule, found in best}
    return tuple((rule, found[0].change, found[0].place + more[rule]) for rule, found in best)


def _measured(review: Review) -> str:
    evidence = review.evidence
    told = evidence.told(evidence.facts) if evidence else ""
    return f"{told}; {plural(len(review.withdrawn), 'finding')} withdrawn" if review.withdrawn else told


def _estimate(review: Review) -> Section:
    estimate = review.estimate()
    if estimate is None:
        return Section("")
    text = [f"Together: {together(estimate)}. {_AMDAHL}", *([] if estimate.measured else [_ASSUMED])]
    rows = tuple(_part(part) for part in estimate.parts)
    whole = ("a step", "100 %", f"{estimate.ratio:.2g}×", percent(1 / estimate.ratio), "")
    heads = ("time", "share now", "up to", "share then", "by")
    table = Table((*rows, whole), heads, figures=(1, 2, 3))
    return Section(
        "Before and after",
        text=tuple(text),
        tables=(table,),
        charts=(estimate_chart(estimate),),
    )


def _part(part: Part) -> tuple[str, ...]:
    others = f" (and {', '.join(part.others)})" if part.others else ""
    share = percent(part.share) + ("" if part.measured else " *")
    ratio = f"{part.ratio:.2g}×" if part.rule else "–"
    return (TIMES[part.time], share, ratio, percent(part.share_after), part.rule + others)


def _findings(review: Review, severity: Severity, patch_of: PatchOf) -> Iterator[Section]:
    found = review.of(severity)
    if not found:
        return
    yield Section(f"{PLURALS[severity]} ({len(found)})", text=(ABOUT[severity],), tone=TONES[severity])
    for each in by_gain(found):
        yield _finding(review, each, patch_of)


def _finding(review: Review, finding: Finding, patch_of: PatchOf) -> Section:
    rows = (
        ("Where", finding.place),
        ("Root cause", finding.because),
        ("Fix", finding.change),
        ("Expected", finding.expected),
        ("Confidence", percent(finding.confidence)),
    )
    patch = patch_of(finding)
    around = frame(finding, review.source.get(finding.path))
    code = [Code(around.text(), "text")] if around else []
    code += [Code(patch.diff, "diff")] if patch and patch.diff else []
    tables = (Table(tuple(row for row in rows if row[1])),)
    title = f"{finding.rule}: {finding.message}"
    return Section(title, tables=tables, code=tuple(code), tone=TONES[finding.severity], level=3)


def _mended(review: Review) -> Section:
    points = tuple(f"{each.place}: {each.rule}: {each.message}" for each in review.mended)
    return Section("Changed now", points=points, tone="good")


def _withdrawn(review: Review) -> Section:
    rows = tuple((each.finding.place, each.finding.rule, each.reason) for each in review.withdrawn)
    if not rows:
        return Section("")
    return Section("Withdrawn by measurements", tables=(Table(rows, ("where", "rule", "measured")),))


def _unread(review: Review) -> Section:
    return Section("Not read", points=(*map(str, review.unreadable), *review.failures), tone="warning")


def _remaining(review: Review) -> Section:
    """What is to be done by people: judging, measuring, mending what could not be read."""
    found = review.findings
    judged = [each for each in found if fixable(each) and not safely_fixable(each)]
    by_hand = [each for each in found if not fixable(each) and each.severity is not Severity.NOTE]
    points = (
        [f"Judge {plural(len(judged), 'change')} that may alter results (--diff): {_rules(judged)}."] if judged else []
    )
    points += [f"Change {plural(len(by_hand), 'place')} by hand: {_rules(by_hand)}."] if by_hand else []
    points += [f"Measure {words}." for words in to_measure(found)]
    points += [f"Mend what could not be read: {each.path}." for each in review.unreadable]
    return Section("Remaining work", points=tuple(points))


def _rules(findings: Iterable[Finding]) -> str:
    return ", ".join(dict.fromkeys(each.rule for each in by_gain(findings)))


def _checklist(review: Review) -> Section:
    ordered = by_gain(review.findings)
    points = [f"{each.rule} in {each.place}: {each.change}" for each in ordered if each.severity is not Severity.NOTE]
    noted = _rules(each for each in ordered if each.severity is Severity.NOTE)
    points += [f"Look at the notes: {noted}"] if noted else []
    points += ["Measure a step before and after, on the same data and the same machine"] if points else []
    points += ["Audit again"] if points else []
    return Section("Checklist", points=tuple(points), boxes=True)
