"""From the text of a specification to one whose names are resolved, or to all of its faults at once."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from flyball_planner.calibration.measured import MeasuredRuns
from flyball_planner.catalogue.hardware import Machine
from flyball_planner.models.cost import ModelCost
from flyball_planner.specification.hardware import read_machine
from flyball_planner.specification.keys import FILE, SECTIONS
from flyball_planner.specification.layout import read_layout
from flyball_planner.specification.loading import read_loading
from flyball_planner.specification.model import Model, read_model
from flyball_planner.specification.specification import Price, ReportChoice, Specification
from flyball_planner.specification.training import Subject, complete
from flyball_reports.specification.document import read_document
from flyball_reports.specification.entry import Entry
from flyball_reports.specification.problems import SpecificationError
from flyball_reports.specification.sections import Findings, read_section

Files = Callable[[str], str]
"""Reads a file that a specification names."""

SHORT_FORMS = {"model": "name", "hardware": "device", "scalability": "devices"}
"""A section that is one value says this key alone: `hardware: RTX_4090_fp16`."""


def read_specification(text: str, file: str = "specification", files: Files | None = None) -> Specification:
    """The specification that a YAML text states; `files` opens what it names, beside it."""
    return read_entry(read_document(text, file), file, files)


def read_entry(
    root: Entry, file: str = "specification", files: Files | None = None, subject: Subject | None = None
) -> Specification:
    """The same of values that are read already; a `subject` stands in place of what the section `model` says."""
    root = Entry(_expanded(root), root.line)
    findings = Findings([], root)
    read_section("", root, FILE, findings)
    found = _resolved(root, findings, files or _no_files, subject)
    if findings.problems or found is None:
        raise SpecificationError(findings.problems, file)
    return found


def _expanded(root: Entry) -> dict[str, Entry]:
    """Short forms written out."""
    sections = dict(root.value) if isinstance(root.value, dict) else {}
    for section, key in SHORT_FORMS.items():
        entry = sections.get(section)
        if entry is not None and isinstance(entry.value, str | list):
            sections[section] = Entry({key: entry}, entry.line)
    return sections


def _resolved(root: Entry, findings: Findings, files: Files, subject: Subject | None) -> Specification | None:
    sections = root.value if isinstance(root.value, dict) else {}
    said = {
        name: read_section(name, sections.get(name), keys, findings)
        for name, keys in SECTIONS.items()
        if name != "model"
    }
    machine = _machine(sections, said["hardware"], findings)
    sequence = said["training"].get("sequence")
    model = Model(_name(subject), subject) if subject else read_model(sections.get("model"), sequence, findings, files)
    if machine is None or model is None:
        return None
    completed = complete(_joined(said["training"], model, findings), model.subject, machine.device, findings)
    if completed is None:
        return None
    return Specification(
        title=_title(sections, model, machine),
        model=model.name,
        subject=model.subject,
        training=completed.training,
        machine=machine,
        network=said["hardware"].get("network", ""),
        layout=read_layout(said["layout"], model.subject, completed.training, machine, findings),
        device_counts=tuple(sorted(set(said["scalability"].get("devices", ())))),
        batch_sizes=tuple(sorted(set(said["scalability"].get("batch_sizes", ())))),
        price=Price(**said["cost"]),
        loading=read_loading(said["loading"], model.subject, findings),
        measured=_measured(sections, files, findings),
        report=ReportChoice(**said["report"]),
        assumptions=(*completed.assumptions, *machine.assumptions),
    )


def _measured(sections: Mapping[str, Entry], files: Files, findings: Findings) -> MeasuredRuns | None:
    if "calibration" not in sections:
        return None
    from flyball_planner.specification.calibration import read_calibration  # noqa: PLC0415  few plans are calibrated

    return read_calibration(sections, files, partial(read_entry, files=files), findings)


def _machine(sections: Mapping[str, Entry], said: Mapping[str, Any], findings: Findings) -> Machine | None:
    if "device" not in said and "hardware" in sections and not findings.of("hardware.device"):
        findings.add("hardware.device", "is missing; name one of flyball hardware --list")
    return read_machine(said, findings)


def _joined(said: Mapping[str, Any], model: Model, findings: Findings) -> dict[str, Any]:
    """What both sections say of the training; neither may say again what the other says."""
    for key in sorted(said.keys() & model.said.keys()):
        if said[key] != model.said[key]:
            findings.add(f"training.{key}", "stands among the model's keys too, with another value; keep one of them")
    return {**model.said, **said}


def _name(subject: Subject) -> str:
    return subject.model if isinstance(subject, ModelCost) else subject.name or f"{subject.kind.value} transformer"


def _title(sections: Mapping[str, Entry], model: Model, machine: Machine) -> str:
    given = sections.get("title")
    if given is not None and isinstance(given.value, str) and given.value.strip():
        return given.value.strip()
    many = f"{machine.devices} × " if machine.devices > 1 else ""
    return f"{model.name} on {many}{machine.device.name}"


def _no_files(name: str) -> str:
    raise OSError(f"no file can be read here: {name}")
