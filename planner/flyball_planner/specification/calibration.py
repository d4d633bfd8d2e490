"""The key `calibration`: measured runs in a file beside the specification, or written in it."""

from collections.abc import Callable, Mapping

from flyball_planner.calibration.measured import MeasuredRuns
from flyball_planner.specification.runs import SECTION_OF, Files, Resolve, read_run, read_runs, row_of, unknown_columns
from flyball_reports.specification.entry import Entry
from flyball_reports.specification.problems import Problem, SpecificationError
from flyball_reports.specification.sections import Findings

KEY = "calibration"
INLINE = "the specification"


def read_calibration(
    sections: Mapping[str, Entry], files: Files, resolve: Resolve, findings: Findings
) -> MeasuredRuns | None:
    """The runs; nothing where the key is left out or has a fault, which is told."""
    entry = sections.get(KEY)
    if entry is None or entry.value is None:
        return None
    if isinstance(entry.value, str):
        return _told(lambda: _of_file(str(entry.value), files, resolve), findings)
    if isinstance(entry.value, list):
        return _told(lambda: _inline(entry.value, sections, resolve), findings)
    findings.add(KEY, f"expected the name of a file, or a list of runs, not {entry.told()}")
    return None


def _told(read: Callable[[], MeasuredRuns], findings: Findings) -> MeasuredRuns | None:
    try:
        return read()
    except OSError as error:
        findings.add(KEY, f"the file cannot be read: {error.strerror or error}")
    except SpecificationError as error:
        findings.problems += [_under(each, error.file, findings) for each in error.problems]
    return None


def _under(problem: Problem, file: str, findings: Findings) -> Problem:
    """A fault of another file stands at the key; one of a run that is written here, at its own line."""
    if file == INLINE:
        return Problem(problem.line, f"{KEY}.{problem.key}" if problem.key else KEY, problem.message)
    return Problem(findings.line(KEY), KEY, problem.told(file))


def _of_file(name: str, files: Files, resolve: Resolve) -> MeasuredRuns:
    return read_runs(files(name), name, resolve)


def _inline(entries: object, sections: Mapping[str, Entry], resolve: Resolve) -> MeasuredRuns:
    """What such a run leaves out is as the specification has it."""
    usual = _usual(sections)
    rows = [row_of(entry, INLINE) for entry in (entries if isinstance(entries, list) else [])]
    problems = [problem for row, _ in rows for problem in unknown_columns(row)]
    if problems:
        raise SpecificationError(problems, INLINE)
    runs = []
    for row, line in rows:
        try:
            runs.append(read_run({**usual, **row}, f"line {line}", line, resolve))
        except SpecificationError as error:
            raise SpecificationError(error.problems, INLINE) from None
    return MeasuredRuns(INLINE, tuple(runs))


def _usual(sections: Mapping[str, Entry]) -> dict[str, Entry]:
    found = {"model": sections["model"]} if "model" in sections else {}
    for name in ("hardware", "training", "layout"):
        entry = sections.get(name)
        if entry is not None and isinstance(entry.value, dict):
            found |= {key: each for key, each in entry.value.items() if SECTION_OF.get(key) == name}
    return found
