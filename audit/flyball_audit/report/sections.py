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
from flyball_reports.section import Code, ReportTable, Section

TONES = {Severity.ERROR: "bad", Severity.WARNING: "warning", Severity.NOTE: "plain"}
PLURALS = {Severity.ERROR: "Errors", Severity.WARNING: "Warnings", Severity.NOTE: "Notes"}
ABOUT = {
    Severity.ERROR: "Certainly slow or wrong.",
    Severity.WARNING: "Very probably slow. Change these first.",
    Severity.NOTE: "Worth checking. Measurements show whether they matter in this case.",
}
_FIRST = 3  # rules that the summary names
FOOTER = (
    "Created by flyball audit, which reads code and never runs it. The gains come from other projects and are upper "
    "bounds. Pass measurements of this run with --evidence FILE to confirm or withdraw findings."
)
_AMDAHL = (
    "Each change shortens one kind of time and leaves the rest as it is (Amdahl's law). If several changes shorten "
    "the same kind, only the largest gain counts."
)
_ASSUMED = (
    "Shares marked * were not measured. The unmeasured rest of the step is divided equally among them. Pass "
    "measured shares with --evidence."
)


def sections(review: Review, patch_of: PatchOf) -> tuple[Section, ...]:
    """All sections that have something to say."""
    found = (
        _summary(review),
        _estimate(review),
        *(each for severity in reversed(Severity) for each in _findings(review, severity, patch_of)),
        _fixed(review),
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
    rows = [("Findings", counted(review))]
    rows += [("All changes", together(estimate))] if estimate else []
    rows += [("With notes", together(noted))] if (noted := review.estimate(Severity.NOTE)) != estimate and noted else []
    rows += [("Automatic", told)] if (told := changes(review.findings)) else []
    rows += [("Measured", _measured(review))] if review.evidence else []
    rows += [("Skipped", plural(len(review.unreadable), "file or cell"))] if review.unreadable else []
    first = _first(bad)
    tables = (
        ReportTable(tuple(rows)),
        *([ReportTable(first, ("rule", "what to change first", "where"))] if first else []),
    )
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
    text = [f"All changes together: {together(estimate)}. {_AMDAHL}", *([] if estimate.measured else [_ASSUMED])]
    rows = tuple(_part(part) for part in estimate.parts)
    whole = ("whole step", "100 %", f"{estimate.ratio:.2g}×", percent(1 / estimate.ratio), "")
    heads = ("kind of time", "share now", "up to", "share after", "rules")
    table = ReportTable((*rows, whole), heads, figures=(1, 2, 3))
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
        ("Cause", finding.because),
        ("Change", finding.change),
        ("Expected", finding.expected),
        ("Confidence", percent(finding.confidence)),
    )
    patch = patch_of(finding)
    around = frame(finding, review.source.get(finding.path))
    code = [Code(around.text(), "text")] if around else []
    code += [Code(patch.diff, "diff")] if patch and patch.diff else []
    tables = (ReportTable(tuple(row for row in rows if row[1])),)
    title = f"{finding.rule}: {finding.message}"
    return Section(title, tables=tables, code=tuple(code), tone=TONES[finding.severity], level=3)


def _fixed(review: Review) -> Section:
    points = tuple(f"{each.place}: {each.rule}: {each.message}" for each in review.fixed)
    return Section("Fixed in this run", points=points, tone="good")


def _withdrawn(review: Review) -> Section:
    rows = tuple((each.finding.place, each.finding.rule, each.reason) for each in review.withdrawn)
    if not rows:
        return Section("")
    return Section("Withdrawn by measurements", tables=(ReportTable(rows, ("where", "rule", "measured")),))


def _unread(review: Review) -> Section:
    return Section("Skipped files", points=(*map(str, review.unreadable), *review.failures), tone="warning")


def _remaining(review: Review) -> Section:
    """What is to be done by people: judging, measuring, mending what could not be read."""
    found = review.findings
    judged = [each for each in found if fixable(each) and not safely_fixable(each)]
    by_hand = [each for each in found if not fixable(each) and each.severity is not Severity.NOTE]
    points = (
        [f"Review {plural(len(judged), 'change')} that may alter results (see --diff): {_rules(judged)}."]
        if judged
        else []
    )
    points += [f"Change {plural(len(by_hand), 'place')} by hand: {_rules(by_hand)}."] if by_hand else []
    points += [f"Measure {words}." for words in to_measure(found)]
    points += [f"Fix or exclude the file that could not be read: {each.path}." for each in review.unreadable]
    return Section("Remaining work", points=tuple(points))


def _rules(findings: Iterable[Finding]) -> str:
    return ", ".join(dict.fromkeys(each.rule for each in by_gain(findings)))


def _checklist(review: Review) -> Section:
    ordered = by_gain(review.findings)
    points = [f"{each.rule} in {each.place}: {each.change}" for each in ordered if each.severity is not Severity.NOTE]
    noted = _rules(each for each in ordered if each.severity is Severity.NOTE)
    points += [f"Check the notes: {noted}"] if noted else []
    points += ["Measure a step before and after the changes, with the same data on the same machine"] if points else []
    points += ["Run the audit again"] if points else []
    return Section("Checklist", points=tuple(points), boxes=True)
