"""The key `calibration`: measured runs in a file beside the specification or in the specification itself."""

from collections.abc import Callable, Mapping

from flyball_planner.calibration.measured_runs import MeasuredRuns
from flyball_planner.specification.runs import SECTION_OF, Files, Resolve, read_run, read_runs, row_of, unknown_columns
from flyball_reports.errors import read_fault
from flyball_reports.specification.problems import Problem, SpecificationError
from flyball_reports.specification.sections import SpecificationFaults
from flyball_reports.specification.source_value import SourceValue

KEY = "calibration"
INLINE = "the specification"


def read_calibration(
    sections: Mapping[str, SourceValue], files: Files, resolve: Resolve, faults: SpecificationFaults
) -> MeasuredRuns | None:
    """Return the runs; nothing if the key is missing or has a fault, which is reported."""
    entry = sections.get(KEY)
    if entry is None or entry.value is None:
        return None
    if isinstance(entry.value, str):
        name = entry.value
        return _reporting_faults(lambda: _of_file(name, files, resolve), faults, name)
    if isinstance(entry.value, list):
        return _reporting_faults(lambda: _inline(entry.value, sections, resolve), faults)
    faults.add(KEY, f"expected the name of a file, or a list of runs, not {entry.description()}")
    return None


def _reporting_faults(
    read: Callable[[], MeasuredRuns], faults: SpecificationFaults, file: str = INLINE
) -> MeasuredRuns | None:
    try:
        return read()
    except OSError as error:
        faults.add(KEY, read_fault(file, error))
    except SpecificationError as error:
        faults.problems += [_under(each, error.file, faults) for each in error.problems]
    return None


def _under(problem: Problem, file: str, faults: SpecificationFaults) -> Problem:
    """Locate a problem: at the key for another file, at its own line for a run in the specification."""
    if file == INLINE:
        return Problem(problem.line, f"{KEY}.{problem.key}" if problem.key else KEY, problem.message)
    return Problem(faults.line(KEY), KEY, problem.located(file))


def _of_file(name: str, files: Files, resolve: Resolve) -> MeasuredRuns:
    return read_runs(files(name), name, resolve)


def _inline(entries: object, sections: Mapping[str, SourceValue], resolve: Resolve) -> MeasuredRuns:
    """Read runs in the specification, which supplies what they leave out."""
    defaults = _defaults(sections)
    rows = [row_of(entry, INLINE) for entry in (entries if isinstance(entries, list) else [])]
    problems = [problem for row, _ in rows for problem in unknown_columns(row)]
    if problems:
        raise SpecificationError(problems, INLINE)
    runs = []
    for row, line in rows:
        try:
            runs.append(read_run({**defaults, **row}, f"line {line}", line, resolve))
        except SpecificationError as error:
            raise SpecificationError(error.problems, INLINE) from None
    return MeasuredRuns(INLINE, tuple(runs))


def _defaults(sections: Mapping[str, SourceValue]) -> dict[str, SourceValue]:
    found = {"model": sections["model"]} if "model" in sections else {}
    for name in ("hardware", "training", "layout"):
        entry = sections.get(name)
        if entry is not None and isinstance(entry.value, dict):
            found |= {key: each for key, each in entry.value.items() if SECTION_OF.get(key) == name}
    return found
