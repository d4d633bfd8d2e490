"""Reads specifications: resolves all names, or reports all faults at once."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from flyball_planner.calibration.measured_runs import MeasuredRuns
from flyball_planner.catalogue.hardware import TrainingMachine
from flyball_planner.models.cost import ModelCost
from flyball_planner.specification.batches import complete_batches
from flyball_planner.specification.canonical_keys import Canonical, canonical
from flyball_planner.specification.comparison import read_comparison
from flyball_planner.specification.hardware import own_devices, read_machine
from flyball_planner.specification.keys import CHOICES, FILE, SECTIONS
from flyball_planner.specification.layout import open_choices, read_choices, read_layout, refuse_batch
from flyball_planner.specification.loading import read_loading
from flyball_planner.specification.model import read_model
from flyball_planner.specification.model_families import Model
from flyball_planner.specification.remarks import remarks
from flyball_planner.specification.specification import InferenceChoice, PriceChoice, ReportChoice, Specification
from flyball_planner.specification.training import Subject, complete
from flyball_reports.specification.document import read_document
from flyball_reports.specification.problems import Problem, SpecificationError
from flyball_reports.specification.sections import SpecificationFaults, read_section
from flyball_reports.specification.source_value import SourceValue

Files = Callable[[str], str]
"""Reads a file that a specification refers to."""

Values = dict[str, dict[str, Any]]

OF_CONFIG = frozenset({"model_type", "architectures"})
CONFIG_FILE = (
    "this is the configuration of a model, not a specification; name it in one (model: {huggingface: config.json}) "
    "that also has the sections hardware and training; `flyball examples` writes examples"
)


def read_specification(text: str, file: str = "specification", files: Files | None = None) -> Specification:
    """Read a specification in YAML, or in TOML if `file` ends in .toml. `files` opens the files that it refers to."""
    return read_entry(read_document(text, file), file, files)


def read_entry(
    root: SourceValue, file: str = "specification", files: Files | None = None, subject: Subject | None = None
) -> Specification:
    """Read a specification from values; a `subject` replaces the section `model`."""
    if isinstance(root.value, dict) and root.value.keys() >= OF_CONFIG and not root.value.keys() & SECTIONS.keys():
        raise SpecificationError([Problem(0, "", CONFIG_FILE)], file)
    own = canonical(root)
    faults = SpecificationFaults([], own.root)
    sections = own.root.value if isinstance(own.root.value, dict) else {}
    named = {name: entry for name, entry in sections.items() if name != CHOICES}
    read_section("", SourceValue(named, own.root.line), FILE, faults)
    found = _resolved(own, sections, faults, files or _no_files, subject)
    problems = [*own.problems, *own.as_written(faults.problems)]
    if problems or found is None:
        raise SpecificationError(problems, file)
    return found


def _resolved(
    own: Canonical,
    sections: Mapping[str, SourceValue],
    faults: SpecificationFaults,
    files: Files,
    subject: Subject | None,
) -> Specification | None:
    values = {
        name: read_section(name, sections.get(name), keys, faults) for name, keys in SECTIONS.items() if name != "model"
    }
    machine = _machine(sections, values["hardware"], files, faults)
    model = (
        Model(_name(subject), subject)
        if subject
        else read_model(sections.get("model"), values["training"], faults, files)
    )
    if machine is None or model is None:
        return None
    choices = read_choices(sections.get(CHOICES), values["layout"], faults)
    joined = _joined(values["training"], model, own, faults)
    choices = complete_batches(joined, values["layout"], choices, machine, faults)
    completed = complete(joined, model.subject, machine.device, faults, own.name("training.precision"))
    if completed is None:
        return None
    comparison = read_comparison(values["scalability"])
    notes = remarks(own, values, model, machine)
    layout = read_layout(values["layout"], model.subject, completed.training, machine, faults)
    choices = open_choices(values["layout"], layout) if layout else comparison.restricted(choices)
    batch_key = _batch_key(values["training"], model, own)
    if not values["layout"] and batch_key:
        refuse_batch(batch_key, model.subject, completed.training, machine, choices, faults)
    return Specification(
        title=_title(sections, model, machine),
        model=model.name,
        subject=model.subject,
        training=completed.training,
        machine=machine,
        network=values["hardware"].get("network", ""),
        layout=layout,
        choices=choices,
        device_counts=comparison.devices,
        batch_sizes=comparison.batch_sizes,
        price=_price(values["cost"], machine),
        loading=read_loading(values["loading"], model.subject, faults),
        measured=_measured(sections, files, faults),
        report=ReportChoice(**values["report"]),
        learning_rate=joined.get("learning_rate"),
        inference=InferenceChoice(**values["inference"]) if values["inference"] else None,
        assumptions=(*completed.assumptions, *machine.assumptions, *notes),
    )


def _measured(sections: Mapping[str, SourceValue], files: Files, faults: SpecificationFaults) -> MeasuredRuns | None:
    if "calibration" not in sections:
        return None
    from flyball_planner.specification.calibration import read_calibration  # noqa: PLC0415  few plans are calibrated

    return read_calibration(sections, files, partial(read_entry, files=files), faults)


def _machine(
    sections: Mapping[str, SourceValue], values: Mapping[str, Any], files: Files, faults: SpecificationFaults
) -> TrainingMachine | None:
    if "device" not in values and "hardware" in sections and not faults.has("hardware.device"):
        faults.add("hardware.device", "is missing; name one of `flyball hardware`")
    return read_machine(values, faults, own_devices(values, files, faults))


def _joined(values: Mapping[str, Any], model: Model, own: Canonical, faults: SpecificationFaults) -> dict[str, Any]:
    """Merge the training keys of both sections, which may not contradict each other."""
    for key in sorted(values.keys() & model.training.keys()):
        if values[key] != model.training[key]:
            other = own.name(f"model.{model.written.get(key, key)}")
            faults.add(f"training.{key}", f"contradicts {other}; keep one of them")
    return {**model.training, **values}


def _batch_key(values: Mapping[str, Any], model: Model, own: Canonical) -> str:
    """Return the key that states the batch; empty if none does."""
    if "batch_size" in values:
        return "training.batch_size"
    return own.name(f"model.{model.written['batch_size']}") if "batch_size" in model.written else ""


def _price(values: Mapping[str, Any], machine: TrainingMachine) -> PriceChoice:
    """Return the price to use: the specification's, else that of a device which has its own."""
    own = machine.device.usd_per_hour
    chosen = {"usd_per_device_hour": own} if own is not None and not values else {}
    return PriceChoice(**{**chosen, **values})


def _name(subject: Subject) -> str:
    return subject.model if isinstance(subject, ModelCost) else subject.name or f"{subject.kind.value} transformer"


def _title(sections: Mapping[str, SourceValue], model: Model, machine: TrainingMachine) -> str:
    given = sections.get("title")
    if given is not None and isinstance(given.value, str) and given.value.strip():
        return given.value.strip()
    many = f"{machine.devices} × " if machine.devices > 1 else ""
    return f"{model.name} on {many}{machine.device.name}"


def _no_files(name: str) -> str:
    raise OSError(f"files cannot be read here: {name}")
