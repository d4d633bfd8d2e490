"""What every format says of a review, in the same words."""

from collections import Counter
from collections.abc import Iterable, Iterator

from flyball_audit.amdahl import Estimate
from flyball_audit.facts import BEARINGS, FACTS, Verdict
from flyball_audit.finding import Finding, Severity, Time
from flyball_audit.fix import fixable, safely_fixable
from flyball_audit.review import Review
from flyball_reports.figures import plural

TIMES = {
    Time.HOST: "waiting for the host",
    Time.INPUT: "waiting for data",
    Time.COMPUTE: "computing",
    Time.OPTIMIZER: "optimizer",
    Time.COMMUNICATION: "communication",
    Time.EVALUATION: "evaluation",
    Time.SERVICE: "waiting for services",
    Time.MEMORY: "memory",
    None: "everything else",
}


def counted(review: Review) -> str:
    """2 errors, 5 warnings and 1 note in 4 of 31 files."""
    counts = [(each, len(review.of(each))) for each in reversed(Severity)]
    told = [plural(count, severity.value) for severity, count in counts if count]
    if not told:
        return f"no findings in {plural(review.files, 'file')}"
    words = told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"
    return f"{words} in {len({each.path for each in review.findings}):,} of {plural(review.files, 'file')}"


def changes(findings: Iterable[Finding]) -> str:
    """What a program can change of it."""
    found = list(findings)
    safe = sum(map(safely_fixable, found))
    more = sum(map(fixable, found)) - safe
    told = [f"--fix writes {plural(safe, 'safe change')}"] if safe else []
    told += [f"--diff shows {more:,} more {'patch' if more == 1 else 'patches'}"] if more else []
    return "; ".join(told)


def together(estimate: Estimate) -> str:
    """What all changes together may bring."""
    ratio, most = f"{estimate.ratio:.2g}×", f"{estimate.at_most:.2g}×"
    if estimate.measured:
        return f"steps up to {ratio} faster, according to the measured shares"
    if ratio == most:
        return f"steps up to {most} faster"
    assumed = "the unmeasured kinds of time" if any(part.measured for part in estimate.parts) else "all kinds of time"
    return f"steps about {ratio} faster if {assumed} have equal shares of the step (not measured), and at most {most}"


def by_gain(findings: Iterable[Finding]) -> list[Finding]:
    """The most rewarding first: worse, greater, surer."""

    def weight(finding: Finding) -> tuple[float, ...]:
        saved = 1 - 1 / finding.gain.up_to if finding.gain and finding.gain.up_to > 1 else 0.0
        return (-finding.severity.rank, -saved * finding.confidence, -finding.confidence)

    return sorted(findings, key=lambda each: (weight(each), each.order))


def to_measure(findings: Iterable[Finding]) -> Iterator[str]:
    """Which facts would confirm or withdraw which notes; the most telling first."""
    noted = Counter(each.rule for each in findings if each.severity is Severity.NOTE)
    meaning = {each.name: each.meaning for each in FACTS}
    told: dict[str, list[str]] = {}
    for bearing in BEARINGS:
        if bearing.verdict is Verdict.CONFIRM and (rules := [each for each in bearing.rules if each in noted]):
            told.setdefault(bearing.fact, []).extend(rules)
    for fact, rules in sorted(told.items(), key=lambda each: -sum(noted[rule] for rule in each[1])):
        yield f"{fact} ({meaning[fact]}) to decide {', '.join(dict.fromkeys(rules))}"
