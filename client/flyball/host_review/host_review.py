"""Reviews a host: score, power, heat, configurations, warnings, suggestions, and the steps that follow from them."""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from flyball.host.hardware_profile import HardwareProfile
from flyball.host_review import disk_rules, gpu_rules, memory_rules, power_rules, processor_rules, software_rules
from flyball.host_review.bottlenecks import HostBottleneck, bottlenecks
from flyball.host_review.cooling import CoolingRisk, cooling_risk
from flyball.host_review.host_devices import HostDevices, devices_of, machine_of
from flyball.host_review.host_finding import FindingKind, HostFinding, HostSituation, Surroundings
from flyball.host_review.host_score import HostScore, score_host
from flyball.host_review.power_budget import PowerBudget, power_budget
from flyball.host_review.processor_rules import DAY, LONG_DAYS
from flyball_planner.configurations.configuration import Configuration
from flyball_planner.configurations.configure import configure
from flyball_reports.errors import InputError
from flyball_reports.figures import count, size

Rule = Callable[[HostSituation], Iterator[HostFinding]]

RULES: tuple[Rule, ...] = (
    *power_rules.RULES,
    *gpu_rules.RULES,
    *software_rules.RULES,
    *memory_rules.RULES,
    *disk_rules.RULES,
    *processor_rules.RULES,
)
URGENT = 3  # a finding of this rank comes before anything else
WORTHWHILE = 2
CAUTIOUS = frozenset({"battery", "gpu-hot", "gpu-in-use", "power-brake", "supply", "extreme-heat"})
WRITES_IT = "`flyball analyze --generate-configs` writes it"
MOST_SUGGESTED = 2  # suggestions among the next steps


class HostProposal(Struct, frozen=True):
    """The configurations for a host, or the reason why there are none."""

    devices: HostDevices | None = None
    configurations: tuple[Configuration, ...] = ()
    because: str = ""


NOTHING = HostProposal()


class HostReview(Struct, frozen=True):
    """All that is known about a host, and what to do with it."""

    profile: HardwareProfile
    score: HostScore
    power: PowerBudget
    cooling: CoolingRisk
    proposal: HostProposal
    findings: tuple[HostFinding, ...]  # the most important first
    recommended: str  # the name of a configuration
    bottlenecks: tuple[HostBottleneck, ...]  # empty if nothing was measured
    next_steps: tuple[str, ...]

    def of_kind(self, kind: FindingKind) -> tuple[HostFinding, ...]:
        """Return the warnings or the suggestions."""
        return tuple(each for each in self.findings if each.kind is kind)


def propose(profile: HardwareProfile) -> HostProposal:
    """Return three configurations for a host. This takes most of the time of a review."""
    try:
        devices = devices_of(profile)
    except InputError as error:
        return HostProposal(because=str(error))
    try:
        return HostProposal(devices, configure(machine_of(devices)))
    except InputError as error:
        return HostProposal(devices, because=str(error))


def review_host(
    profile: HardwareProfile, surroundings: Surroundings | None = None, proposal: HostProposal = NOTHING
) -> HostReview:
    """Return the review of a host. Without a proposal it has no configurations."""
    configurations = proposal.configurations
    power, cooling, score = power_budget(profile), cooling_risk(profile), score_host(profile)
    situation = HostSituation(profile, power, cooling, configurations, surroundings or Surroundings())
    found = [finding for rule in RULES for finding in rule(situation)]
    findings = tuple(sorted(found, key=lambda each: -each.rank))
    recommended = _recommended(configurations, findings)
    chosen = next((each for each in configurations if each.name == recommended), None)
    return HostReview(
        profile=profile,
        score=score,
        power=power,
        cooling=cooling,
        proposal=proposal,
        findings=findings,
        recommended=recommended,
        bottlenecks=tuple(bottlenecks(profile, chosen)),
        next_steps=tuple(_next_steps(profile, score, findings, chosen)),
    )


def _recommended(configurations: Sequence[Configuration], findings: Sequence[HostFinding]) -> str:
    """Return balanced, or conservative where heat, power or other programs are in the way."""
    cautious = any(each.id in CAUTIOUS and each.rank >= URGENT for each in findings)
    cautious = cautious or any(each.id == "gpu-in-use" for each in findings)
    wanted = "conservative" if cautious else "balanced"
    chosen = next((each for each in configurations if each.name == wanted), None)
    if chosen is None or chosen.expected.seconds.middle <= LONG_DAYS * DAY:
        return chosen.name if chosen else ""
    return min(configurations, key=lambda each: each.expected.seconds.middle).name


def _next_steps(
    profile: HardwareProfile,
    score: HostScore,
    findings: Sequence[HostFinding],
    chosen: Configuration | None,
) -> Iterator[str]:
    yield from (f"First: {_advice(each)}" for each in findings if each.rank >= URGENT)
    if chosen is not None:
        what = chosen.expected
        power = f", {what.power_watts * chosen.devices:,.0f} W" if what.power_watts else ""
        numbers = f"{count(chosen.model.parameters)} parameters in {what.time_human}"
        numbers += f", {size(what.memory_bytes.middle)}"
        yield f"Train with the {chosen.name} configuration: {numbers}{power}; {WRITES_IT}."
    worthwhile = [each for each in findings if each.kind is FindingKind.SUGGESTION and each.rank >= WORTHWHILE]
    yield from (_advice(each) for each in worthwhile[:MOST_SUGGESTED])
    weakest = score.weakest
    if weakest is not None and weakest.figures:
        lowest = min(weakest.figures, key=lambda each: each.score)
        yield f"Weakest part: {weakest.name} ({weakest.score:.1f} of 10). Its {lowest.name}: {lowest.between}."
    if profile.benchmarks is None:
        yield "Measure disk, memory and network with `flyball analyze --benchmark`: their scores use typical figures."


def _advice(finding: HostFinding) -> str:
    """Return the fact with what to do."""
    command = f" (`{finding.command}`)" if finding.command else ""
    return f"{finding.fact}: {finding.action[:1].lower()}{finding.action[1:]}{command}."
