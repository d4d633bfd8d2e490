"""What all changes together may bring: each makes one kind of time shorter, and the rest stays (Amdahl's law)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from flyball_audit.finding import Finding, Time


@dataclass(frozen=True)
class Part:
    """One kind of time: its share of a step now, and how many times shorter it can become at most."""

    time: Time | None
    """None: what was not measured and no finding touches."""
    share: float
    measured: bool
    ratio: float = 1.0
    rule: str = ""
    """Whose ratio it is: of changes that take away the same kind of time, only the largest counts."""
    others: tuple[str, ...] = ()
    """Rules whose gain is of the same time, and therefore not counted again."""

    @property
    def share_after(self) -> float:
        """What is left of it, as a share of the step as it is now."""
        return self.share / self.ratio


@dataclass(frozen=True)
class Estimate:
    """A step before and after the changes."""

    parts: tuple[Part, ...]

    @property
    def ratio(self) -> float:
        """How many times shorter a step becomes, with these shares."""
        return 1.0 / sum(part.share_after for part in self.parts)

    @property
    def at_most(self) -> float:
        """The same if all the time whose kind was not measured were of the kind that gains most."""
        free = [part for part in self.parts if not part.measured]
        best = max((part.ratio for part in free), default=1.0)
        return 1.0 / (
            sum(part.share_after for part in self.parts if part.measured) + sum(part.share for part in free) / best
        )

    @property
    def measured(self) -> bool:
        """Whether every share that counts was measured."""
        return all(part.measured for part in self.parts if part.time is not None)


def estimate(findings: Iterable[Finding], shares: Mapping[Time, float] | None = None) -> Estimate | None:
    """What the changes of these findings may bring together; None where no finding shortens a step.

    Kinds of time that were not measured, and what no finding touches, are taken to share equally what is left: nobody
    knows better before a run.
    """
    gains = _largest(findings)
    if not gains:
        return None
    known = _normalised(shares or {})
    unknown = [time for time in gains if time not in known]
    assumed = max(0.0, 1.0 - sum(known.values())) / (len(unknown) + 1)
    untouched = (1.0, "", ())
    parts = [
        Part(time, known.get(time, assumed), time in known, *gains.get(time, untouched)) for time in {**gains, **known}
    ]
    return Estimate((*parts, Part(None, assumed, measured=False)))


def _largest(findings: Iterable[Finding]) -> dict[Time, tuple[float, str, tuple[str, ...]]]:
    """For each kind of time the greatest ratio, its rule, and the rules that compete with it."""
    by_time: dict[Time, dict[str, float]] = {}
    for finding in findings:
        if finding.gain is not None and finding.gain.time is not Time.MEMORY and finding.gain.up_to > 1:
            by_time.setdefault(finding.gain.time, {})[finding.rule] = finding.gain.up_to
    found = {}
    for time in Time:
        if ratios := by_time.get(time):
            first, *others = sorted(ratios, key=lambda rule: (-ratios[rule], rule))
            found[time] = (ratios[first], first, tuple(others))
    return found


def _normalised(shares: Mapping[Time, float]) -> dict[Time, float]:
    """Shares that overlap (the host worked while the GPU did) are brought down to one step."""
    total = sum(shares.values())
    return {time: share / max(1.0, total) for time, share in shares.items()}
