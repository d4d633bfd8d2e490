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
            lines += [f"# {line}" for line in wrap(f"{key.description} ({key.type})", _WIDTH)]
            lines.append(f"#{key.name.rpartition('.')[2]} = {toml_value(key.default)}")
    return "\n".join(lines) + "\n"


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
            yield f"| `{key.name}` | {_cell(key.type)} | `{toml_value(key.default)}` | {_cell(key.description)} |"
    yield f"\nExample of an environment variable: `{variable_name(prefix, describe(kind)[-1].name)}`."


def _table_of(key: Key) -> str:
    return key.name.rpartition(".")[0]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
