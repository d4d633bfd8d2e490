"""The audit as a whole: files in, findings out; what one rule or one file cannot bear stays with it."""

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from os import stat_result
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING

from flyball_audit.files import is_test_code
from flyball_audit.finding import Finding, Severity
from flyball_audit.layout import dotted_names
from flyball_audit.notebook import read_notebook
from flyball_audit.parts import independent
from flyball_audit.project import Project
from flyball_audit.rule import Rule
from flyball_audit.rules import RULES
from flyball_audit.settings import Settings
from flyball_audit.source import LARGEST_BYTES, Source, Unreadable, parse, python_files, read_python
from flyball_audit.suppression import obey
from flyball_audit.workers import side_by_side, workers_for

if TYPE_CHECKING:
    import ast


ALL = Settings()
"""Every rule, as severe as it says itself."""


@dataclass(frozen=True)
class Report:
    """What an audit found."""

    findings: tuple[Finding, ...]
    sources: tuple[Source, ...]
    """The files that were read."""
    unreadable: tuple[Unreadable, ...] = ()
    """Files, and cells of notebooks, that were left out."""
    failures: tuple[str, ...] = ()
    """Rules that failed in a file: faults of the audit itself, worth reporting."""

    @property
    def files(self) -> int:
        """How many files were read."""
        return len(self.sources)

    def reaches(self, severity: Severity) -> bool:
        """Whether any finding is as bad as that, or worse."""
        return any(each.severity.rank >= severity.rank for each in self.findings)


def audit(
    paths: Iterable[Path],
    settings: Settings = ALL,
    rules: Sequence[Rule] = RULES,
    *,
    on_file: Callable[[str], None] = lambda _path: None,
) -> Report:
    """Read all Python files and notebooks under the paths, and look in them for what the rules know."""
    return audit_sources(gathered(paths, settings), settings, rules, on_file=on_file)


def audit_sources(
    read_files: Iterable[Source | Unreadable],
    settings: Settings = ALL,
    rules: Sequence[Rule] = RULES,
    *,
    on_file: Callable[[str], None] = lambda _path: None,
) -> Report:
    """The same for texts that were read already.

    Python's collector of circles stands still meanwhile: it would walk through millions of nodes that all are needed.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return _audited(read_files, settings, rules, on_file)
    finally:
        if collects:
            gc.enable()


def _audited(
    read_files: Iterable[Source | Unreadable],
    settings: Settings,
    rules: Sequence[Rule],
    on_file: Callable[[str], None],
) -> Report:
    files = list(read_files)
    sources = [each for each in files if isinstance(each, Source)]
    asked = [each for each in rules if settings.asks(each.id)]
    dotted = dotted_names(sources)
    parts = independent(sources, dotted)
    sizes = [sum(len(each.text) for each in part) for part in parts]
    workers = workers_for(len(parts)) if sum(sizes) >= WORTH_SHARING else 1

    def look(number: int, tell: Callable[[str], None]) -> Report:
        return _part(parts[number], dotted, asked, tell)

    largest_first = sorted(range(len(parts)), key=lambda number: -sizes[number])
    return _together(files, side_by_side(look, largest_first, workers, on_file), settings)


WORTH_SHARING = 200_000
"""Characters of text from which on several processes look at parts of it: less takes half a second at most."""


def _together(files: Sequence[Source | Unreadable], parts: Sequence[Report], settings: Settings) -> Report:
    """The reports of all parts as one, in the order in which the files were read."""
    unparsed = {fault.path: fault for part in parts for fault in part.unreadable}
    findings = sorted((each for part in parts for each in part.findings), key=lambda each: each.order)
    return Report(
        settings.shown(findings),
        tuple(each for each in files if isinstance(each, Source) and each.path not in unparsed),
        tuple(fault for each in files for fault in _faults(each, unparsed)),
        tuple(failure for part in parts for failure in part.failures),
    )


def _faults(file: Source | Unreadable, unparsed: Mapping[str, Unreadable]) -> Iterator[Unreadable]:
    if isinstance(file, Unreadable):
        yield file
        return
    yield from file.left_out
    if file.path in unparsed:
        yield unparsed[file.path]


def _part(
    sources: Iterable[Source], dotted: Mapping[str, str], rules: Sequence[Rule], on_file: Callable[[str], None]
) -> Report:
    """What the rules say of files that know of no others."""
    parsed: list[tuple[Source, ast.Module]] = []
    unreadable: list[Unreadable] = []
    for each in sources:
        tree = parse(each)
        if isinstance(tree, Unreadable):
            unreadable.append(tree)
        else:
            parsed.append((each, tree))
    with closing(Project(parsed, dotted)) as project:
        parsed.clear()
        report = _look(project, rules, on_file)
    return replace(report, unreadable=tuple(unreadable))


def gathered(paths: Iterable[Path], settings: Settings) -> Iterator[Source | Unreadable]:
    """The texts of all files that are not left out."""
    for path in python_files(paths):
        if not settings.leaves_out(path.as_posix()):
            yield read(path)


def read(path: Path) -> Source | Unreadable:
    """One file's text, or why there is none; what is no ordinary file is not opened: a pipe would be waited for."""
    try:
        refused = _refused(path, path.stat())
        data = b"" if refused else path.read_bytes()
    except OSError as error:
        return Unreadable(path.as_posix(), 1, f"cannot be read: {error.strerror}", "check the path and the permissions")
    reader = read_notebook if path.suffix == ".ipynb" else read_python
    return refused or reader(path.as_posix(), data)


def _refused(path: Path, state: stat_result) -> Unreadable | None:
    if S_ISDIR(state.st_mode):
        return Unreadable(path.as_posix(), 1, "cannot list the folder", "check its permissions")
    if not S_ISREG(state.st_mode):
        return Unreadable(path.as_posix(), 1, "not a regular file", "pass Python files, notebooks or folders")
    if state.st_size > LARGEST_BYTES:
        what_to_do = "audit the source it was generated from"
        return Unreadable(path.as_posix(), 1, f"larger than {LARGEST_BYTES / 1e6:.0f} MB", what_to_do)
    return None


def _look(project: Project, rules: Sequence[Rule], on_file: Callable[[str], None]) -> Report:
    found: dict[tuple[object, ...], Finding] = {}
    failures = []
    for module in project.modules.values():
        on_file(module.path)
        for rule in () if is_test_code(module) else rules:
            if rule.words and not module.says_any(rule.words):
                continue
            try:
                for each in rule.check(module, project):
                    key = (*each.order, each.end_line, each.end_column)
                    known = found.get(key)
                    if known is None or _weight(each) > _weight(known):
                        found[key] = each
            except Exception as error:  # noqa: BLE001  a rule that fails in one file must not silence the others
                failures.append(f"rule {rule.id} failed on {module.path}: {error!r}")
    kept = obey(found.values(), project.modules.values())
    return Report(tuple(_in_cells(kept, project)), (), failures=tuple(failures))


def _weight(finding: Finding) -> tuple[int, float]:
    """A function that several loops run is judged by the worst of them."""
    return finding.severity.rank, finding.confidence


def _in_cells(findings: Iterable[Finding], project: Project) -> Iterator[Finding]:
    """Findings of notebooks, with lines that count within their cells."""
    sources = {module.path: module.source for module in project.modules.values()}
    for each in findings:
        cell, line = sources[each.path].place(each.line)
        _, end_line = sources[each.path].place(each.end_line)
        yield each if cell is None else replace(each, cell=cell, line=line, end_line=end_line)
