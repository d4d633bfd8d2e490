"""What is audited and how strictly: `flyball-audit.toml`, or the table `[tool.flyball.audit]` of pyproject.toml."""

import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import Any

from flyball_audit.choices import FailOn
from flyball_audit.finding import Finding, Severity
from flyball_reports.errors import InputError, UnknownName, read_fault
from flyball_reports.specification.problems import SpecificationError, unknown
from flyball_reports.specification.sections import SectionKey, SpecificationFaults, read_section
from flyball_reports.specification.source_value import SourceValue
from flyball_reports.specification.value_readers import Reader, many, member, number, text

FILE = "flyball-audit.toml"
_TABLE = ("tool", "flyball", "audit")
_LARGEST_BYTES = 1_000_000  # settings have a few hundred


@dataclass(frozen=True)
class Settings:
    """Which rules are asked, and what becomes of what they find."""

    select: frozenset[str] | None = None
    """The rules that are asked; None: all."""
    ignore: frozenset[str] = frozenset()
    exclude: tuple[str, ...] = ()
    """Patterns of paths that are not read."""
    severity: Mapping[str, Severity] = field(default_factory=dict)
    """What findings of a rule have in place of their own severity."""
    confidence: float = 0.0
    """Findings that are less sure than this are not shown."""
    fail_on: FailOn = FailOn.WARNING
    evidence: Path | None = None

    def asks(self, rule: str) -> bool:
        """Whether a rule is asked."""
        return rule not in self.ignore and (self.select is None or rule in self.select)

    def leaves_out(self, path: str) -> bool:
        """Whether a file is not read: a pattern fits its path, or a folder or the file's name in it."""
        parts = PurePath(path).as_posix()
        names = [parts, *PurePath(path).parts, *(each.as_posix() for each in PurePath(path).parents)]
        return any(fnmatchcase(name, pattern.rstrip("/")) for pattern in self.exclude for name in names)

    def shown(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """The findings with the severities asked for, without those that are not sure enough."""
        sure = (each for each in findings if each.confidence >= self.confidence)
        told = ((each, self.severity.get(each.rule, each.severity)) for each in sure)
        return tuple(each if each.severity is said else replace(each, severity=said) for each, said in told)


def rules_named(patterns: Sequence[str], known: Collection[str]) -> frozenset[str]:
    """The rules that names or patterns such as `loader-*` mean; each must mean one at least."""
    found: set[str] = set()
    for pattern in patterns:
        meant = {rule for rule in known if fnmatchcase(rule, pattern)}
        if not meant:
            raise UnknownName("rule", pattern, known, instead="docs/audit.md lists all rules")
        found |= meant
    return frozenset(found)


def read_settings(content: str, file: str, known: Collection[str]) -> Settings | None:
    """The settings that a file states; None where it is a pyproject.toml that says nothing of the audit."""
    try:
        table: Any = tomllib.loads(content)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{file} is not valid TOML: {error}") from None
    own = PurePath(file).name == "pyproject.toml"
    for name in _TABLE if own else ():
        table = table.get(name) if isinstance(table, dict) else None
    if own and table is None:
        return None
    return _settings(_entry(table), file, known)


def find_settings(paths: Sequence[Path], known: Collection[str]) -> tuple[Settings, Path | None]:
    """The nearest settings at or above what all paths share, and the file that states them."""
    resolved = [path.resolve() for path in paths] or [Path.cwd()]
    shared = Path(resolved[0]) if resolved[0].is_dir() else resolved[0].parent
    while not all(path.is_relative_to(shared) for path in resolved):
        shared = shared.parent
    for folder in (shared, *shared.parents):
        for file in (folder / FILE, folder / "pyproject.toml"):
            if file.is_file() and (found := load_settings(file, known)) is not None:
                return found, file
    return Settings(), None


def load_settings(file: Path, known: Collection[str]) -> Settings | None:
    """The settings of a file; paths in them are beside it."""
    try:
        if file.stat().st_size > _LARGEST_BYTES:
            raise InputError(f"{file} is larger than {_LARGEST_BYTES / 1e6:.0f} MB, too large for a settings file")
        content = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{file} is not valid UTF-8") from None
    except OSError as error:
        raise InputError(read_fault(file, error)) from None
    found = read_settings(content, str(file), known)
    if found is None or found.evidence is None:
        return found
    return replace(found, evidence=file.parent / found.evidence)


KEYS = (
    SectionKey("select", many(text()), "rules to run, as names or patterns; all rules if it is missing"),
    SectionKey("ignore", many(text()), "rules not to run, as names or patterns"),
    SectionKey("exclude", many(text()), "files and folders to skip, as patterns"),
    SectionKey("confidence", number(at_least=0.0, at_most=1.0), "minimum confidence of the findings to show"),
    SectionKey("fail_on", member(FailOn), "minimum severity at which the command exits with status 1"),
    SectionKey("evidence", text(), "a file of measured facts; its path is relative to this file"),
    SectionKey(
        "severity", Reader("a table of rules and severities", lambda entry: entry), "your own severities of rules"
    ),
)


def _settings(root: SourceValue, file: str, known: Collection[str]) -> Settings:
    faults = SpecificationFaults([], root)
    said = read_section("", root, KEYS, faults)
    severity = _severities(said.pop("severity", SourceValue({}, 0)), known, faults)
    evidence = Path(said.pop("evidence")) if "evidence" in said else None
    for key in {"select", "ignore"} & said.keys():
        try:
            said[key] = rules_named(said[key], known)
        except UnknownName as error:
            faults.add(key, str(error))
    if faults.problems:
        raise SpecificationError(faults.problems, file)
    return Settings(severity=severity, evidence=evidence, **said)


def _severities(entry: SourceValue, known: Collection[str], faults: SpecificationFaults) -> dict[str, Severity]:
    if not isinstance(entry.value, dict):
        faults.add(
            "severity", f"expected a table such as [severity] with no-compile = 'warning', not {entry.description()}"
        )
        return {}
    for rule in entry.value.keys() - set(known):
        faults.add(f"severity.{rule}", unknown("rule", rule, known))
    keys = [SectionKey(rule, member(Severity), "severity") for rule in entry.value if rule in known]
    named = {key: each for key, each in entry.value.items() if key in known}
    return read_section("severity", SourceValue(named, 0), keys, faults)


def _entry(value: Any) -> SourceValue:
    """Values of TOML as the readers of specifications want them; their lines are not known."""
    if isinstance(value, dict):
        return SourceValue({str(key): _entry(each) for key, each in value.items()}, 0)
    if isinstance(value, list):
        return SourceValue([_entry(each) for each in value], 0)
    return SourceValue(value if isinstance(value, str | int | float | bool) else str(value), 0)
