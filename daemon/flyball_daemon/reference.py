"""Documents made of settings: a table of every key, and a file with every key at its default."""

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
    """Tables of every key: name, type, default, meaning and the environment's name."""
    return "\n".join(_markdown(kind, prefix))


def example(kind: type[msgspec.Struct], opening: str) -> str:
    """A settings file that changes nothing: every key with its meaning, commented out at its default."""
    lines = [*(f"# {line}".rstrip() for line in opening.splitlines())]
    for table, keys in groupby(describe(kind), _table_of):
        lines += ["", f"[{table}]"] if table else []
        for key in keys:
            lines.append("")
            lines += [f"# {line}" for line in wrap(f"{key.description} ({key.type})", _WIDTH)]
            lines.append(f"#{key.name.rpartition('.')[2]} = {toml_value(key.default)}")
    return "\n".join(lines) + "\n"


def toml_value(value: Any) -> str:
    """A value as TOML writes it; JSON's text, numbers and lists are also TOML's."""
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def _markdown(kind: type[msgspec.Struct], prefix: str) -> Iterator[str]:
    for table, keys in groupby(describe(kind), _table_of):
        if table:
            yield f"\n### `[{table}]`\n"
        yield "| key | type | default | meaning |"
        yield "|---|---|---|---|"
        for key in keys:
            yield f"| `{key.name}` | {_cell(key.type)} | `{toml_value(key.default)}` | {_cell(key.description)} |"
    yield f"\nIn the environment, for example: `{variable_name(prefix, describe(kind)[-1].name)}`."


def _table_of(key: Key) -> str:
    return key.name.rpartition(".")[0]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
