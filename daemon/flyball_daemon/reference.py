"""Generates reference documents of settings: tables of all keys, and an example file with all defaults."""

import json
from collections.abc import Iterator
from itertools import groupby
from textwrap import wrap
from typing import Any

import msgspec

from flyball_daemon.keys import Key, describe
from flyball_daemon.settings import variable_name

_WIDTH = 100

_UNITS: dict[str, tuple[tuple[int, str], ...]] = {
    "_bytes": ((1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB")),
    "_seconds": ((86_400, "d"), (3600, "h"), (60, "min")),
    "_hours": ((24, "d"),),
}
"""Larger units by the ending of a key's name, the largest first."""


def markdown(kind: type[msgspec.Struct], prefix: str) -> str:
    """Return tables of all keys with name, type, default and meaning, and the form of environment variables."""
    return "\n".join(_markdown(kind, prefix))


def example(kind: type[msgspec.Struct], opening: str) -> str:
    """Return a settings file that contains every key with its meaning, commented out, at its default."""
    lines = [*(f"# {line}".rstrip() for line in opening.splitlines())]
    for table, keys in groupby(describe(kind), _table_of):
        lines += ["", f"[{table}]"] if table else []
        for key in keys:
            lines.append("")
            readable = f"; {key.default:.10g} is {amount(key)}" if amount(key) else ""
            lines += [f"# {line}" for line in wrap(f"{key.description} ({key.type}{readable})", _WIDTH)]
            lines.append(f"#{key.name.rpartition('.')[2]} = {toml_value(key.default)}")
    return "\n".join(lines) + "\n"


def amount(key: Key) -> str:
    """Return the default in the largest unit that divides it, such as `512 MiB`; empty if there is none."""
    for ending, units in _UNITS.items():
        if key.name.endswith(ending) and key.default:
            return next((f"{key.default // size:g} {unit}" for size, unit in units if key.default % size == 0), "")
    return ""


def toml_value(value: Any) -> str:
    """Return a value in TOML syntax; for text, numbers and lists it is that of JSON."""
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def _markdown(kind: type[msgspec.Struct], prefix: str) -> Iterator[str]:
    for table, keys in groupby(describe(kind), _table_of):
        if table:
            yield f"\n### `[{table}]`\n"
        yield "| key | type | default | meaning |"
        yield "|---|---|---|---|"
        for key in keys:
            default = f"`{toml_value(key.default)}`" + (f" ({amount(key)})" if amount(key) else "")
            yield f"| `{key.name}` | {_cell(key.type)} | {default} | {_cell(key.description)} |"
    yield f"\nExample of an environment variable: `{variable_name(prefix, describe(kind)[-1].name)}`."


def _table_of(key: Key) -> str:
    return key.name.rpartition(".")[0]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
