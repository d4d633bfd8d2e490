"""Measured runs from a file: CSV with a line a run, or YAML and JSON with a list of runs; the keys are the same.

A run is told by the keys of a specification, without their sections, and by what was measured.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from msgspec.structs import replace

from flyball_planner.calibration.measured import MeasuredRun, MeasuredRuns, Refused
from flyball_planner.layouts.columns import Layout, Layouts
from flyball_planner.layouts.rules import refusals
from flyball_planner.models.cost import ModelCost
from flyball_planner.specification.keys import HARDWARE, LAYOUT, MEASURED, TRAINING
from flyball_planner.specification.specification import Specification
from flyball_planner.specification.table import table_rows
from flyball_reports.specification.document import read_document
from flyball_reports.specification.entry import Entry
from flyball_reports.specification.problems import Problem, SpecificationError, unknown
from flyball_reports.specification.sections import Findings, Key, read_section
from flyball_reports.specification.value_readers import text

Files = Callable[[str], str]
Resolve = Callable[[Entry], Specification]
"""From the sections of a specification to what they name; raises `SpecificationError`."""

LENGTHS = {"epochs", "samples", "tokens", "steps"}
"""A run teaches of its steps, however many there were."""
SECTION_OF = {
    **{key.name: "hardware" for key in HARDWARE},
    **{key.name: "training" for key in TRAINING if key.name not in LENGTHS},
    **{key.name: "layout" for key in LAYOUT},
    **{key.name: "measured" for key in MEASURED},
}
COLUMNS = ("run", "model", *SECTION_OF)
PACES = ("step_seconds", "samples_per_second", "tokens_per_second")
OF_MODEL = "model."
"""A column of this beginning is a key of the model itself, as in model.layers."""

Row = Mapping[str, Entry]


def describe_columns() -> tuple[Key, ...]:
    """What a run may say, with what is expected and what it means."""
    own = (
        Key("run", text(), "what a report calls the run"),
        Key("model", text(), "a model by its name; in a list also its keys, or huggingface, or shape"),
        Key(f"{OF_MODEL}KEY", text(), "a key of the model, as in model.layers: see flyball models --details NAME"),
    )
    return (*own, *(key for key in (*HARDWARE, *TRAINING, *LAYOUT, *MEASURED) if key.name in SECTION_OF))


def read_runs(content: str, file: str, resolve: Resolve) -> MeasuredRuns:
    """The runs of a file; one that cannot be used is refused with its reason, a fault of the file itself is raised."""
    rows = _rows(content, file)
    problems = [problem for row, _ in rows for problem in unknown_columns(row)]
    if problems:
        raise SpecificationError(list(dict.fromkeys(problems)), file)
    if not rows:
        raise SpecificationError([Problem(0, "", "holds no run; give at least one")], file)
    runs: list[MeasuredRun] = []
    refused: list[Refused] = []
    for row, line in rows:
        name = _name(row, f"{PurePath(file).name}:{line}")
        try:
            runs.append(read_run(row, name, line, resolve))
        except SpecificationError as error:
            refused.append(Refused(name, "; ".join(map(_told, error.problems))))
    return MeasuredRuns(file, tuple(runs), tuple(refused))


def unknown_columns(row: Row) -> list[Problem]:
    """Keys that no run has."""
    wrong = [name for name in row if name not in COLUMNS and not name.startswith(OF_MODEL)]
    return [Problem(row[name].line, "", unknown("column", name, COLUMNS)) for name in wrong]


def read_run(row: Row, name: str, line: int, resolve: Resolve) -> MeasuredRun:
    """One run; `SpecificationError` with all that is wrong with it."""
    findings = Findings([], Entry(dict(row), line))
    measured = read_section("", Entry(_section(row, "measured"), line), MEASURED, findings)
    if findings.problems:
        raise SpecificationError(findings.problems)
    specification = resolve(_sections(row, line))
    missing = list(_missing(row, specification, measured))
    if missing:
        raise SpecificationError([Problem(line, key, message) for key, message in missing])
    layout = _layout(row, specification)
    broken = [each.reason for each in _refusals(specification, layout) if each.broken.any()]
    if broken:
        raise SpecificationError([Problem(line, "", reason) for reason in broken])
    seconds = _step_seconds(measured, specification)
    memory = {key: value for key, value in measured.items() if key.endswith("_bytes")}
    subject, training, machine = specification.subject, specification.training, specification.machine
    return MeasuredRun(name, subject, training, machine, layout, seconds, **memory)


def _rows(content: str, file: str) -> Sequence[tuple[Row, int]]:
    if PurePath(file).suffix.casefold() == ".csv":
        return [(row, line) for line, row in table_rows(content, file)]
    spaced = (
        content.replace("\t", " ") if PurePath(file).suffix.casefold() == ".json" else content
    )  # YAML allows no tabs
    root = read_document(spaced, file)
    runs = root.value.get("runs") if isinstance(root.value, dict) else None
    if runs is None or not isinstance(runs.value, list):
        raise SpecificationError([Problem(root.line, "runs", "expected a list of runs under this key")], file)
    return [row_of(entry, file) for entry in runs.value]


def row_of(entry: Entry, file: str) -> tuple[Row, int]:
    """One item of a list of runs."""
    if not isinstance(entry.value, dict):
        raise SpecificationError([Problem(entry.line, "runs", f"expected the keys of a run, not {entry.told()}")], file)
    return entry.value, entry.line


def _name(row: Row, place: str) -> str:
    said = row.get("run")
    return f"{said.value} ({place})" if said is not None and said.value else place


def _told(problem: Problem) -> str:
    key = problem.key.partition(".")[2] if problem.key.partition(".")[0] in _SECTIONS else problem.key
    key = "model" if problem.key == "model.name" else key
    return f"{key}: {problem.message}" if key else problem.message


_SECTIONS = set(SECTION_OF.values())


def _section(row: Row, section: str) -> dict[str, Entry]:
    return {name: entry for name, entry in row.items() if SECTION_OF.get(name) == section}


def _sections(row: Row, line: int) -> Entry:
    """The same keys in the sections of a specification; one step is as good as many."""
    model = dict[str, Entry]()
    said = row.get("model")
    if said is not None:
        model |= said.value if isinstance(said.value, dict) else {"name": said}
    model |= {name.removeprefix(OF_MODEL): entry for name, entry in row.items() if name.startswith(OF_MODEL)}
    sections: dict[str, Any] = {name: Entry(_section(row, name), line) for name in ("hardware", "training", "layout")}
    return Entry({"model": Entry(model, line), **sections}, line)


def _missing(row: Row, found: Specification, measured: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What a plan may assume, but a measurement may not; and what it says twice."""
    if not measured:
        yield "step_seconds", f"is missing; give at least one of {', '.join(key.name for key in MEASURED)}"
    pace = [name for name in PACES if name in measured]
    if len(pace) > 1:
        yield pace[1], f"says the time of a step a second time, beside {pace[0]}; keep one of them"
    classical = isinstance(found.subject, ModelCost) and not found.subject.trained_by_gradient
    if "batch_size" not in row and "model.batch_size" not in row and not classical and not _own_batch(row):
        yield "batch_size", "is missing; expected the samples of an optimizer step, over all devices"
    language = not isinstance(found.subject, ModelCost) and not found.subject.patches
    if language and "sequence" not in row:
        yield "sequence", "is missing; expected the tokens of a sample"


def _own_batch(row: Row) -> bool:
    model = row.get("model")
    return model is not None and isinstance(model.value, dict) and "batch_size" in model.value


def _layout(row: Row, found: Specification) -> Layout:
    """As the run says; a micro-batch that is left out is all of a replica's batch."""
    machine = found.machine
    layout = found.layout or Layout(devices=machine.devices, devices_a_node=machine.devices_a_node)
    if "micro_batch" in row:
        return layout
    return replace(layout, micro_batch=max(1, found.training.global_batch // layout.data))


def _refusals(found: Specification, layout: Layout) -> Any:
    if isinstance(found.subject, ModelCost) and not found.subject.trained_by_gradient:
        return ()
    return refusals(found.subject, found.training, Layouts.of(layout))


def _step_seconds(measured: Mapping[str, Any], found: Specification) -> float | None:
    batch, sequence = found.training.global_batch, found.training.sequence
    if "samples_per_second" in measured:
        return float(batch / measured["samples_per_second"])
    if "tokens_per_second" in measured:
        return float(batch * sequence / measured["tokens_per_second"])
    return measured.get("step_seconds")
