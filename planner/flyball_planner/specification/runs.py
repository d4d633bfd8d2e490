"""Reads measured runs from CSV with a line per run, or from YAML or JSON with a list of runs.

The keys of a run are those of a specification without their sections, and the measured results.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from msgspec.structs import replace

from flyball_planner.calibration.measured_runs import MeasuredRun, MeasuredRuns, Refused
from flyball_planner.layouts.layout import Layouts, ParallelLayout
from flyball_planner.layouts.rules import refusals
from flyball_planner.models.cost import ModelCost
from flyball_planner.specification.aliases import ON
from flyball_planner.specification.keys import HARDWARE, LAYOUT, MEASURED, TRAINING
from flyball_planner.specification.specification import Specification
from flyball_planner.specification.table import table_rows
from flyball_planner.training import Checkpointing, Sharding
from flyball_reports.specification.document import read_document
from flyball_reports.specification.problems import Problem, SpecificationError, unknown
from flyball_reports.specification.sections import SectionKey, SpecificationFaults, read_section
from flyball_reports.specification.source_value import SourceValue
from flyball_reports.specification.value_readers import text

Files = Callable[[str], str]
Resolve = Callable[[SourceValue], Specification]
"""Resolves the sections of a specification; raises `SpecificationError`."""

UNNEEDED = {
    "epochs",
    "samples",
    "tokens",
    "steps",
    "learning_rate",
    "momentum",
    "accumulation",
    "efficiency",
    "nodes",
    "data",
    "hardware_file",
}
"""Keys that a run does not need: its steps are measured, not its length, and other keys state the rest."""
SECTION_OF = {
    **{key.name: "hardware" for key in HARDWARE if key.name not in UNNEEDED},
    **{key.name: "training" for key in TRAINING if key.name not in UNNEEDED},
    **{key.name: "layout" for key in LAYOUT if key.name not in UNNEEDED},
    **{key.name: "measured" for key in MEASURED},
}
COLUMNS = ("run", "model", *SECTION_OF)
PACES = ("step_seconds", "samples_per_second", "tokens_per_second")
EXACT = {"checkpointing": Checkpointing, "sharding": Sharding}
"""Columns for which a specification also reads yes as the strongest kind. A measurement must state which one it was."""
OF_MODEL = "model."
"""Prefix of columns that are keys of the model, as in model.layers."""

Row = Mapping[str, SourceValue]


def describe_columns() -> tuple[SectionKey, ...]:
    """Return the columns of a run, with expected values and meaning."""
    own = (
        SectionKey("run", text(), "name of the run in reports"),
        SectionKey("model", text(), "a known model; in a list also its keys, huggingface or shape"),
        SectionKey(
            f"{OF_MODEL}KEY", text(), "a key of the model, such as model.layers; see flyball models --details NAME"
        ),
    )
    return (*own, *(key for key in (*HARDWARE, *TRAINING, *LAYOUT, *MEASURED) if key.name in SECTION_OF))


def read_runs(content: str, file: str, resolve: Resolve) -> MeasuredRuns:
    """Read the runs of a file. A run that cannot be used is refused with its reason; a fault of the file is raised."""
    rows = _rows(content, file)
    problems = [problem for row, _ in rows for problem in unknown_columns(row)]
    if problems:
        raise SpecificationError(list(dict.fromkeys(problems)), file)
    if not rows:
        raise SpecificationError([Problem(0, "", "contains no run; add at least one")], file)
    runs: list[MeasuredRun] = []
    refused: list[Refused] = []
    for row, line in rows:
        name = _name(row, f"{PurePath(file).name}:{line}")
        try:
            runs.append(read_run(row, name, line, resolve))
        except SpecificationError as error:
            refused.append(Refused(name, "; ".join(map(_reason, error.problems))))
    return MeasuredRuns(file, tuple(runs), tuple(refused))


def unknown_columns(row: Row) -> list[Problem]:
    """Return problems for keys that no run has."""
    wrong = [name for name in row if name not in COLUMNS and not name.startswith(OF_MODEL)]
    return [Problem(row[name].line, "", unknown("column", name, COLUMNS)) for name in wrong]


def read_run(row: Row, name: str, line: int, resolve: Resolve) -> MeasuredRun:
    """Read one run; raises `SpecificationError` with all its problems."""
    faults = SpecificationFaults([], SourceValue(dict(row), line))
    measured = read_section("", SourceValue(_section(row, "measured"), line), MEASURED, faults)
    faults.problems += _vague(row)
    if faults.problems:
        raise SpecificationError(faults.problems)
    specification = _resolved(row, line, measured, resolve)
    layout = _layout(row, specification)
    broken = [each.reason for each in _refusals(specification, layout) if each.broken.any()]
    if broken:
        raise SpecificationError([Problem(line, "", reason) for reason in broken])
    seconds = _step_seconds(measured, specification)
    memory = {key: value for key, value in measured.items() if key.endswith("_bytes")}
    subject, training, machine = specification.subject, specification.training, specification.machine
    return MeasuredRun(name, subject, training, machine, layout, seconds, **memory)


def _vague(row: Row) -> Iterator[Problem]:
    """Yield problems for yes in a column with several kinds."""
    for name, kinds in EXACT.items():
        entry = row.get(name)
        if entry is not None and str(entry.value).casefold() in ON:
            yield Problem(entry.line, name, f"expected one of {', '.join(kinds)}, not {entry.description()}")


def _resolved(row: Row, line: int, measured: Mapping[str, Any], resolve: Resolve) -> Specification:
    """Resolve a run. What it leaves out is reported before a layout that is only impossible with an assumed batch."""
    try:
        specification = resolve(_sections(row, line))
    except SpecificationError as error:
        if not all(problem.key == "layout" for problem in error.problems):
            raise
        _check_missing(row, line, measured, resolve(_sections(row, line, layout=False)))
        raise
    _check_missing(row, line, measured, specification)
    return specification


def _check_missing(row: Row, line: int, measured: Mapping[str, Any], found: Specification) -> None:
    missing = list(_missing(row, found, measured))
    if missing:
        raise SpecificationError([Problem(line, key, message) for key, message in missing])


def _rows(content: str, file: str) -> Sequence[tuple[Row, int]]:
    if PurePath(file).suffix.casefold() == ".csv":
        return [(row, line) for line, row in table_rows(content, file)]
    root = read_document(content, file)
    runs = root.value.get("runs") if isinstance(root.value, dict) else None
    if runs is None or not isinstance(runs.value, list):
        raise SpecificationError([Problem(root.line, "runs", "expected a list of runs under this key")], file)
    return [row_of(entry, file) for entry in runs.value]


def row_of(entry: SourceValue, file: str) -> tuple[Row, int]:
    """Return an item of a list of runs with its line."""
    if not isinstance(entry.value, dict):
        raise SpecificationError(
            [Problem(entry.line, "runs", f"expected the keys of a run, not {entry.description()}")], file
        )
    return entry.value, entry.line


def _name(row: Row, place: str) -> str:
    name = row.get("run")
    return f"{name.value} ({place})" if name is not None and name.value else place


def _reason(problem: Problem) -> str:
    key = problem.key.partition(".")[2] if problem.key.partition(".")[0] in _SECTIONS else problem.key
    key = "model" if problem.key == "model.name" else key
    return f"{key}: {problem.message}" if key else problem.message


_SECTIONS = set(SECTION_OF.values())


def _section(row: Row, section: str) -> dict[str, SourceValue]:
    return {name: entry for name, entry in row.items() if SECTION_OF.get(name) == section}


def _sections(row: Row, line: int, *, layout: bool = True) -> SourceValue:
    """Return the keys in the sections of a specification."""
    model = dict[str, SourceValue]()
    given = row.get("model")
    if given is not None:
        model |= given.value if isinstance(given.value, dict) else {"name": given}
    model |= {name.removeprefix(OF_MODEL): entry for name, entry in row.items() if name.startswith(OF_MODEL)}
    sections: dict[str, Any] = {
        name: SourceValue(_section(row, name), line)
        for name in ("hardware", "training", *(("layout",) if layout else ()))
    }
    return SourceValue({"model": SourceValue(model, line), **sections}, line)


def _missing(row: Row, found: Specification, measured: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield keys that a plan may assume but a measurement must state, and redundant ones."""
    if not measured:
        yield (
            "step_seconds",
            f"is missing; at least one of these is required: {', '.join(key.name for key in MEASURED)}",
        )
    pace = [name for name in PACES if name in measured]
    if len(pace) > 1:
        yield pace[1], f"is redundant with {pace[0]}; keep one of them"
    classical = isinstance(found.subject, ModelCost) and not found.subject.trained_by_gradient
    if "batch_size" not in row and "model.batch_size" not in row and not classical and not _own_batch(row):
        yield "batch_size", "is missing; expected the samples per optimizer step over all devices"
    language = not isinstance(found.subject, ModelCost) and not found.subject.patches
    if language and "sequence" not in row:
        yield "sequence", "is missing; expected the tokens per sample"


def _own_batch(row: Row) -> bool:
    model = row.get("model")
    return model is not None and isinstance(model.value, dict) and "batch_size" in model.value


def _layout(row: Row, found: Specification) -> ParallelLayout:
    """Return the run's layout; by default a micro-batch is the complete batch of a replica."""
    machine = found.machine
    layout = found.layout or ParallelLayout(devices=machine.devices, devices_a_node=machine.devices_a_node)
    if "micro_batch" in row:
        return layout
    return replace(layout, micro_batch=max(1, found.training.global_batch // layout.data))


def _refusals(found: Specification, layout: ParallelLayout) -> Any:
    if isinstance(found.subject, ModelCost) and not found.subject.trained_by_gradient:
        return ()
    return refusals(found.subject, found.training, Layouts.of(layout), chosen=True)


def _step_seconds(measured: Mapping[str, Any], found: Specification) -> float | None:
    batch, sequence = found.training.global_batch, found.training.sequence
    if "samples_per_second" in measured:
        return float(batch / measured["samples_per_second"])
    if "tokens_per_second" in measured:
        return float(batch * sequence / measured["tokens_per_second"])
    return measured.get("step_seconds")
