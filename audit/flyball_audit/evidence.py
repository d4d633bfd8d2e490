"""Measured facts from a file: they confirm, lower or withdraw what was only read in the code."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from flyball_audit.facts import BEARINGS, FACTS, Bearing, Verdict
from flyball_audit.finding import Finding, Severity, Time
from flyball_reports.errors import InputError, read_fault
from flyball_reports.figures import figure, percent
from flyball_reports.specification.document import read_document
from flyball_reports.specification.problems import SpecificationError, unknown
from flyball_reports.specification.sections import SectionKey, SpecificationFaults, read_section
from flyball_reports.specification.source_value import SourceValue, shortened
from flyball_reports.specification.value_readers import Reader, Unfit, number, text

_BY_NAME = {each.name: each for each in FACTS}
_LARGEST_BYTES = 1_000_000
_READ_BY_HOST = "sync-every-step"
"""The rule whose findings PyTorch's debug mode can decide. It misses explicit calls of synchronize()."""


@dataclass(frozen=True)
class Measured:
    """The value of a fact, and what it was measured on."""

    value: float
    on: str


@dataclass(frozen=True)
class Evidence:
    """What is known of a run of the audited code."""

    facts: Mapping[str, Measured] = field(default_factory=dict)
    file: str = ""
    waits: Mapping[str, float] | None = None
    """How often a step waited for the GPU, by place (FILE:LINE); None if that was not measured."""
    waits_on: str = ""

    def told(self, facts: Iterable[str]) -> str:
        """Facts in words, those together that were measured on the same."""
        by_place: dict[str, list[str]] = {}
        for name in facts:
            value = self.facts[name].value
            words = f"{name} {percent(value) if _BY_NAME[name].share else figure(value)}"
            by_place.setdefault(self.facts[name].on, []).append(words)
        return "; ".join(f"{', '.join(words)} ({place})" for place, words in by_place.items())

    def shares(self) -> dict[Time, float]:
        """The measured shares of a step, by kind of time; computing is what busy GPUs did besides all else."""
        known = {each.time: self.facts[each.name].value for each in FACTS if each.time and each.name in self.facts}
        if Time.COMPUTE not in known and "gpu_busy_ratio" in self.facts:
            others = known.get(Time.OPTIMIZER, 0.0) + known.get(Time.COMMUNICATION, 0.0)
            known[Time.COMPUTE] = max(0.0, self.facts["gpu_busy_ratio"].value - others)
        return known


@dataclass(frozen=True)
class Withdrawn:
    """A finding that a measurement contradicts."""

    finding: Finding
    reason: str


@dataclass(frozen=True)
class Judged:
    """Findings in the light of what was measured."""

    findings: tuple[Finding, ...]
    withdrawn: tuple[Withdrawn, ...] = ()


def judged(findings: Iterable[Finding], evidence: Evidence) -> Judged:
    """Weigh each finding; facts that contradict each other change nothing but are told."""
    kept, withdrawn = [], []
    for finding in findings:
        bearings = _bearings(finding.rule, evidence)
        verdicts = {each.verdict for each in bearings}
        place = _verdict_of_place(finding, evidence)
        if place is not None and finding.severity is not Severity.ERROR:
            if place.verdict is Verdict.WITHDRAW:
                withdrawn.append(Withdrawn(finding, place.reason))
            else:
                kept.append(_confirmed(_with_measured(finding, place.reason)))
        elif not bearings or finding.severity is Severity.ERROR:
            kept.append(finding)
        elif verdicts == {Verdict.CONFIRM}:
            kept.append(_confirmed(_told(finding, bearings, evidence)))
        elif Verdict.CONFIRM in verdicts:
            kept.append(_told(finding, bearings, evidence))
        elif Verdict.WITHDRAW in verdicts:
            withdrawn.append(Withdrawn(finding, _reason(bearings, evidence)))
        else:
            kept.append(_lowered(_told(finding, bearings, evidence)))
    return Judged(tuple(kept), tuple(withdrawn))


def _bearings(rule: str, evidence: Evidence) -> list[Bearing]:
    known = evidence.facts
    return [
        each for each in BEARINGS if rule in each.rules and each.fact in known and each.holds(known[each.fact].value)
    ]


def _reason(bearings: Iterable[Bearing], evidence: Evidence) -> str:
    return evidence.told(dict.fromkeys(each.fact for each in bearings))


def _told(finding: Finding, bearings: Iterable[Bearing], evidence: Evidence) -> Finding:
    return _with_measured(finding, _reason(bearings, evidence))


def _with_measured(finding: Finding, reason: str) -> Finding:
    return replace(finding, because=f"{finding.because.rstrip('.')}. Measured: {reason}.")


@dataclass(frozen=True)
class _PlaceVerdict:
    """The verdict on a finding by the places at which steps waited for the GPU."""

    verdict: Verdict
    reason: str


def _verdict_of_place(finding: Finding, evidence: Evidence) -> _PlaceVerdict | None:
    """Return whether the steps waited at the place of a finding; None for findings that this cannot decide."""
    if evidence.waits is None or finding.rule != _READ_BY_HOST or finding.cell is not None:
        return None
    lines = range(min(finding.begins or finding.line, finding.line), finding.end_line + 1)
    found = sum(count for place, count in evidence.waits.items() if _is_at(place, finding.path, lines))
    if found:
        return _PlaceVerdict(Verdict.CONFIRM, f"this place waited {figure(found)} times a step ({evidence.waits_on})")
    return _PlaceVerdict(Verdict.WITHDRAW, f"no step waited for the GPU at this place ({evidence.waits_on})")


def _is_at(place: str, path: str, lines: range) -> bool:
    """Return True if FILE:LINE lies in these lines of a file. Either path may be relative."""
    file, _, line = place.rpartition(":")
    parts, others = Path(file).parts, Path(path).parts
    shorter = min(len(parts), len(others))
    return line.isdecimal() and int(line) in lines and shorter > 0 and parts[-shorter:] == others[-shorter:]


def _confirmed(finding: Finding) -> Finding:
    severity = max(finding.severity, Severity.WARNING, key=lambda each: each.rank)
    return replace(finding, severity=severity, confidence=1 - (1 - finding.confidence) / 2)


def _lowered(finding: Finding) -> Finding:
    return replace(finding, severity=Severity.NOTE, confidence=finding.confidence / 2)


def load_evidence(path: Path) -> Evidence:
    """The facts of a file in YAML or JSON."""
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            raise InputError(
                f"the evidence file {path} is larger than {_LARGEST_BYTES / 1e6:.0f} MB; it should hold only a few "
                "numbers"
            )
        content = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"the evidence file {path} is not valid UTF-8") from None
    except OSError as error:
        raise InputError(f"--evidence: {read_fault(path, error)}") from None
    return read_evidence(content, str(path))


def read_evidence(content: str, file: str = "evidence") -> Evidence:
    """The facts of a text in YAML or JSON; every fault is told with its line."""
    root = read_document(content, file, "measured_on")
    faults = SpecificationFaults([], root)
    said = read_section("", root, KEYS, faults)
    entry = said.get("facts", SourceValue({}, 0))
    if not isinstance(entry.value, dict):
        faults.add("facts", f"expected measured facts such as data_wait_ratio: 0.31, not {entry.description()}")
    facts = {} if faults.problems else dict(_facts(entry, said["measured_on"], faults))
    if faults.problems:
        raise SpecificationError(faults.problems, file)
    return Evidence(facts, file, said.get("synchronising_calls"), said.get("measured_on", ""))


_PLACES = 'places with calls a step, such as "train.py:14": 1.0'


def _places(entry: SourceValue) -> dict[str, float]:
    """Read the places at which steps waited for the GPU."""
    if not isinstance(entry.value, dict):
        raise Unfit(_PLACES)
    count = number(at_least=0.0)
    found = {}
    for place, value in entry.value.items():
        if not re.fullmatch(r".+:\d+", place):
            raise Unfit(_PLACES, repr(shortened(place)))
        found[place] = count.read(value)
    return found


KEYS = (
    SectionKey("measured_on", text(), "the run, the machine and the steps that were measured", required=True),
    SectionKey(
        "facts", Reader("facts such as data_wait_ratio: 0.31", lambda entry: entry), "the measured facts", required=True
    ),
    SectionKey("synchronising_calls", Reader(_PLACES, _places), "waits for the GPU in each step, by file and line"),
)


def _facts(facts: SourceValue, measured_on: str, faults: SpecificationFaults) -> Iterable[tuple[str, Measured]]:
    for name, entry in facts.value.items() if isinstance(facts.value, dict) else ():
        if name not in _BY_NAME:
            faults.add(f"facts.{name}", unknown("fact", name, _BY_NAME))
            continue
        reader = number(at_least=0.0, at_most=1.0) if _BY_NAME[name].share else number(at_least=0.0)
        try:
            yield name, _measured(name, entry, measured_on, reader, faults)
        except Unfit as fault:
            faults.add(f"facts.{name}", f"expected {fault}, not {entry.description()}")


def _measured(name: str, entry: SourceValue, measured_on: str, reader: Reader, faults: SpecificationFaults) -> Measured:
    if not isinstance(entry.value, dict):
        return Measured(reader.read(entry), measured_on)
    keys = (
        SectionKey("value", reader, "the measured value", required=True),
        SectionKey("measured_on", text(), "what was measured, if it differs from the file's"),
    )
    said = read_section(f"facts.{name}", entry, keys, faults)
    return Measured(said.get("value", 0.0), said.get("measured_on", measured_on))
