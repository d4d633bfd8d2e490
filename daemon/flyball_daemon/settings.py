"""Loads the settings of a daemon from defaults, a TOML file, the environment and `--set`, in this order."""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from flyball_daemon.file_faults import read_fault
from flyball_daemon.keys import Key, check, describe
from flyball_daemon.suggestion import closest
from flyball_daemon.toml_lines import key_lines

Settings = TypeVar("Settings", bound=msgspec.Struct)

DEFAULT = "default"


class SettingsError(Exception):
    """The settings cannot be used. `problems` lists all problems, with their places and what was expected."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class Loaded(Generic[Settings]):
    """Checked settings, and the origin of each value."""

    settings: Settings
    origins: Mapping[str, str]  # key → "default" | "FILE:LINE" | "environment VARIABLE" | "--set"

    def effective(self) -> Iterator[tuple[str, Any, str]]:
        """Yield every key with its value and the origin of the value."""
        for name, origin in self.origins.items():
            yield name, value_of(self.settings, name), origin


@dataclass(frozen=True, slots=True)
class _RawValue:
    """A value as it was written, before it is checked."""

    key: str
    value: Any
    origin: str
    text: bool  # from the environment or the command line, where numbers and lists are text


def value_of(settings: msgspec.Struct, name: str) -> Any:
    """Return the value of a dotted key."""
    value: Any = settings
    for part in name.split("."):
        value = getattr(value, part)
    return value


def load(
    kind: type[Settings],
    *,
    file: Path | None = None,
    required: bool = True,
    prefix: str = "",
    environment: Mapping[str, str] | None = None,
    assignments: Sequence[str] = (),
) -> Loaded[Settings]:
    """Load and check settings. All problems are reported in one `SettingsError`.

    `file` may be missing unless it is `required`. Environment variables that begin with `prefix` set keys:
    `FLYBALL_AGENT_SPOOL__MAX_BYTES` sets `spool.max_bytes`. `assignments` are `KEY=VALUE` from the command line.
    """
    keys = {key.name: key for key in describe(kind)}
    problems: list[str] = []
    given = [
        *_from_file(file, required, keys, prefix, problems),
        *_from_environment(environment or {}, prefix, keys, problems),
        *_from_assignments(assignments, keys, prefix, problems),
    ]
    values: dict[str, Any] = {}
    origins = dict.fromkeys(keys, DEFAULT)
    for each in given:
        try:
            values[each.key] = check(keys[each.key], each.value, text=each.text)
            origins[each.key] = each.origin
        except ValueError as error:
            problems.append(f"{each.origin}: {error}")
    if problems:
        raise SettingsError(problems)
    try:
        return Loaded(msgspec.convert(_nested(values), kind), origins)
    except msgspec.ValidationError as error:
        raise SettingsError([str(error)]) from None


def _from_file(
    file: Path | None, required: bool, keys: Mapping[str, Key], prefix: str, problems: list[str]
) -> Iterator[_RawValue]:
    if file is None:
        return
    try:
        source = file.read_bytes().decode("utf-8")
        document = tomllib.loads(source)
    except FileNotFoundError as error:
        if required:
            problems.append(f"{read_fault(file, error)}; create it, or name another file with --config")
        return
    except OSError as error:
        problems.append(read_fault(file, error))
        return
    except UnicodeDecodeError as error:
        problems.append(f"{file} is not valid UTF-8 (byte {error.start}); save it as UTF-8")
        return
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        problems.append(_syntax_problem(file, error))
        return
    lines = key_lines(source)
    for name, value in _leaves(document, keys):
        origin = f"{file}:{_line(lines, name)}"
        if name in keys:
            yield _RawValue(name, value, origin, text=False)
        else:
            problems.append(f"{origin}: {_unknown(name, keys, prefix)}")


def _syntax_problem(file: Path, error: Exception) -> str:
    message, _, place = str(error).partition(" (at line ")
    line = place.partition(",")[0]
    where = f"{file}:{line}" if line.isdigit() else str(file)
    return f"{where}: not valid TOML: {message}"


def _leaves(table: Mapping[str, Any], keys: Mapping[str, Key], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the dotted keys of a document with their values; only tables that are expected are entered."""
    for name, value in table.items():
        dotted = prefix + name
        group = any(key.startswith(f"{dotted}.") for key in keys)
        if isinstance(value, dict) and group:
            yield from _leaves(value, keys, f"{dotted}.")
        else:
            yield dotted, value


def _line(lines: Mapping[str, int], name: str) -> int:
    """Return the line of a key, or of the nearest table around it."""
    while name and name not in lines:
        name = name.rpartition(".")[0]
    return lines.get(name, 1)


def _from_environment(
    environment: Mapping[str, str], prefix: str, keys: Mapping[str, Key], problems: list[str]
) -> Iterator[_RawValue]:
    if not prefix:
        return
    for variable in sorted(environment):
        if not variable.startswith(prefix):
            continue
        name = variable.removeprefix(prefix).lower().replace("__", ".")
        origin = f"environment {variable}"
        if name in keys:
            yield _RawValue(name, environment[variable], origin, text=True)
        else:
            problems.append(f"{origin}: {_unknown(name, keys, prefix, lambda key: variable_name(prefix, key))}")


def variable_name(prefix: str, key: str) -> str:
    """Return the environment variable of a key."""
    return prefix + key.replace(".", "__").upper()


def _from_assignments(
    assignments: Iterable[str], keys: Mapping[str, Key], prefix: str, problems: list[str]
) -> Iterator[_RawValue]:
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        name = name.strip()
        if not equals:
            problems.append(f"--set {assignment}: expected KEY=VALUE, such as log_level=debug")
        elif name in keys:
            yield _RawValue(name, value.strip(), "--set", text=True)
        else:
            problems.append(f"--set: {_unknown(name, keys, prefix)}")


def _unknown(name: str, keys: Mapping[str, Key], prefix: str, spell: Callable[[str], str] = str) -> str:
    groups = {key.rpartition(".")[0] for key in keys} - {""}
    if name in groups:
        inside = ", ".join(key for key in keys if key.startswith(f"{name}."))
        return f"{name} is a table, not a value; its keys are {inside}"
    near = _nearest(name, keys)
    daemon = prefix.removeprefix("FLYBALL_").rstrip("_").lower()
    listing = f"`flyball config show {daemon}` lists all settings" if daemon else "docs/configuration.md lists them"
    return f"there is no setting {spell(name)!r}; {f'did you mean {spell(near)!r}?' if near else listing}"


def _nearest(name: str, keys: Mapping[str, Key]) -> str | None:
    """Return the most similar key. The same name in another table counts as similar."""
    if close := closest(name, keys):
        return close[0]
    last = {key.rpartition(".")[2]: key for key in keys}
    close = closest(name.rpartition(".")[2], last, cutoff=0.75)
    return last[close[0]] if close else None


def _nested(values: Mapping[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for name, value in values.items():
        *tables, last = name.split(".")
        branch = tree
        for table in tables:
            branch = branch.setdefault(table, {})
        branch[last] = value
    return tree
