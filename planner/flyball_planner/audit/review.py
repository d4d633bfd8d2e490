"""An audit as a user asks for it: files chosen, rules switched, findings weighed by what was measured."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from flyball_planner.audit.amdahl import Estimate, estimate
from flyball_planner.audit.evidence import Evidence, Withdrawn, judged
from flyball_planner.audit.finding import Finding, Severity
from flyball_planner.audit.rule import Rule
from flyball_planner.audit.rules import RULES
from flyball_planner.audit.run import audit_sources, read
from flyball_planner.audit.settings import Settings
from flyball_planner.audit.source import LARGEST_BYTES, Source, Unreadable, python_files
from flyball_planner.audit.suppression import WITHOUT_REASON

OnFile = Callable[[str], None]
KNOWN_RULES = (*(each.id for each in RULES), WITHOUT_REASON)


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
    mended: tuple[Finding, ...] = ()
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
        title=f"Audit of {', '.join(each.as_posix() if each.name else each.resolve().name for each in paths)}",
        findings=settings.shown(weighed.findings),
        sources=report.sources,
        unreadable=report.unreadable,
        failures=report.failures,
        withdrawn=weighed.withdrawn,
        evidence=evidence,
    )


def gathered(paths: Iterable[Path], settings: Settings) -> Iterator[Source | Unreadable]:
    """The texts of all files that are not left out; what is no ordinary file is not opened."""
    for path in python_files(paths):
        if not settings.leaves_out(path.as_posix()):
            yield _refused(path) or read(path)


def _refused(path: Path) -> Unreadable | None:
    try:
        size = path.stat().st_size
    except OSError:
        return None  # reading says why
    if path.is_dir():
        return Unreadable(path.as_posix(), 1, "the folder cannot be listed", "mind the rights")
    if not path.is_file():
        return Unreadable(path.as_posix(), 1, "no ordinary file", "name Python files, notebooks or folders of them")
    if size > LARGEST_BYTES:
        what_to_do = "audit the code that a person wrote"
        return Unreadable(path.as_posix(), 1, f"larger than {LARGEST_BYTES / 1e6:.0f} MB", what_to_do)
    return None
