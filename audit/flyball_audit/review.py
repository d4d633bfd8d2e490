"""An audit as a user asks for it: files chosen, rules switched, findings weighed by what was measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from flyball_audit.amdahl import Estimate, estimate
from flyball_audit.evidence import Evidence, Withdrawn, judged
from flyball_audit.finding import Finding, Severity
from flyball_audit.rule import Rule
from flyball_audit.rules import RULES
from flyball_audit.run import audit_sources, gathered
from flyball_audit.settings import Settings
from flyball_audit.source import Source, Unreadable
from flyball_audit.suppression import WITHOUT_REASON

OnFile = Callable[[str], None]
KNOWN_RULES = (*(each.id for each in RULES), WITHOUT_REASON)
_MOST_NAMES = 3  # in the title of a report


@dataclass(frozen=True)
class Review:
    """What was found, and what became of it."""

    title: str
    findings: tuple[Finding, ...]
    sources: tuple[Source, ...]
    unreadable: tuple[Unreadable, ...] = ()
    failures: tuple[str, ...] = ()
    withdrawn: tuple[Withdrawn, ...] = ()
    evidence: Evidence | None = None
    fixed: tuple[Finding, ...] = ()
    """What `--fix` has changed just now."""

    @property
    def files(self) -> int:
        """How many files were read."""
        return len(self.sources)

    def of(self, severity: Severity) -> tuple[Finding, ...]:
        """The findings of one severity."""
        return tuple(each for each in self.findings if each.severity is severity)

    @cached_property
    def source(self) -> dict[str, Source]:
        """The texts by path."""
        return {each.path: each for each in self.sources}

    def estimate(self, least: Severity = Severity.WARNING) -> Estimate | None:
        """What the changes of the findings of a severity, and of worse ones, bring together."""
        meant = [each for each in self.findings if each.severity.rank >= least.rank]
        return estimate(meant, self.evidence.shares() if self.evidence else None)


def review(
    paths: Sequence[Path],
    settings: Settings,
    evidence: Evidence | None = None,
    *,
    rules: Sequence[Rule] = RULES,
    on_file: OnFile = lambda _path: None,
) -> Review:
    """Read what the paths name, ask the rules that are switched on, weigh what they find."""
    unweighed = replace(settings, severity={}, confidence=0.0)  # measurements may make a finding surer
    report = audit_sources(gathered(paths, settings), unweighed, rules, on_file=on_file)
    found = [each for each in report.findings if settings.asks(each.rule)]
    weighed = judged(found, evidence or Evidence())
    return Review(
        title=f"Audit of {_listed([each.as_posix() if each.name else each.resolve().name for each in paths])}",
        findings=settings.shown(weighed.findings),
        sources=report.sources,
        unreadable=report.unreadable,
        failures=report.failures,
        withdrawn=weighed.withdrawn,
        evidence=evidence,
    )


def _listed(names: Sequence[str]) -> str:
    """List the first names, and how many more there are.

    >>> _listed(["a.py", "b.py", "c.py", "d.py", "e.py"])
    'a.py, b.py, c.py and 2 more'
    """
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
