"""Texts of YAML, JSON and TOML files, with comments where the format has them."""

import json
import textwrap
from collections.abc import Iterable, Mapping

COMMENT_COLUMNS = 116


def yaml_text(comments: Iterable[str], values: Mapping[str, object]) -> str:
    """Return a YAML file whose first lines are comments."""
    import yaml  # noqa: PLC0415  only few commands write files

    return _commented(comments) + yaml.safe_dump(dict(values), sort_keys=False, allow_unicode=True, width=110)


def json_text(values: Mapping[str, object]) -> str:
    """Return a JSON file, which cannot have comments."""
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"


def toml_text(comments: Iterable[str], sections: Mapping[str, Mapping[str, object]]) -> str:
    """Return a TOML file whose first lines are comments."""
    parts = [
        f"[{name}]\n" + "".join(f"{key} = {_toml_value(value)}\n" for key, value in values.items())
        for name, values in sections.items()
    ]
    return _commented(comments) + "\n".join(parts)


def _toml_value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    return repr(value) if isinstance(value, int | float) else json.dumps(value, ensure_ascii=False)


def comment_lines(comments: Iterable[str]) -> list[str]:
    """Return comments as lines that begin with a number sign, wrapped."""
    return [
        f"# {line}"
        for each in comments
        for line in textwrap.wrap(each, COMMENT_COLUMNS, break_long_words=False, break_on_hyphens=False)
    ]


def _commented(comments: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in comment_lines(comments))
