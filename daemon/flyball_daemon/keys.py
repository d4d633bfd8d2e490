"""Keys of settings: their names, types, defaults and descriptions."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_type_hints

import msgspec

from flyball_daemon.suggestion import suggestion


@dataclass(frozen=True, slots=True)
class Key:
    """One setting."""

    name: str  # dotted: spool.max_bytes
    type: str
    default: Any
    description: str
    annotation: Any  # the type that a value is checked against


def describe(kind: type[msgspec.Struct]) -> list[Key]:
    """Return all keys of a settings struct, in the order of declaration."""
    return list(_keys(kind, ""))


def check(key: Key, given: Any, *, text: bool) -> Any:
    """Convert a value to the type of its key. Raise `ValueError` with the expected type if that fails.

    With `text`, the value comes from the environment or the command line, where numbers and lists are text.
    """
    value = _read_text(given, key.annotation) if text else given
    try:
        checked = msgspec.convert(value, key.annotation, strict=not text)
    except msgspec.ValidationError as error:
        expected = key.type if "one of" in key.type else _expected(str(error), key)
        raise ValueError(f"{key.name}: expected {expected}, not {_shown(given)}{_suggestion(key, given)}") from None
    for part in checked if isinstance(checked, tuple) else (checked,):
        if not _is_sane(part):
            raise ValueError(f"{key.name}: expected {_SANE[type(part)]}, not {_shown(given)}")
    return checked


_SANE = {float: "a finite number", int: "an integer below 2^63", str: "printable text"}


def _is_sane(value: Any) -> bool:
    """Return False for infinity, not-a-number, numbers beyond 64 bits and text with control characters."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return abs(value) < 1 << 63
    return not isinstance(value, str) or value.isprintable()


def _expected(message: str, key: Key) -> str:
    """Return the expected type, with the index of the wrong item of a list."""
    _, _, place = message.partition(" - at `$")
    item = place.rstrip("`")
    wanted = _with_article(key.type)
    return f"{wanted} (at {key.name}{item})" if item else wanted


def _with_article(kind: str) -> str:
    """Return a type as a part of a sentence: an integer (at least 0, at most 60)."""
    name, _, limits = kind.partition(", ")
    article = {"integer": "an ", "number": "a ", "list of text": "a "}.get(name, "")
    return f"{article}{name}" + (f" ({limits})" if limits else "")


def _suggestion(key: Key, given: Any) -> str:
    """Return a question that suggests a similar word, if the key takes one of several."""
    words = key.type.removeprefix("one of ").split(", ") if key.type.startswith("one of ") else []
    return suggestion(str(given), words)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "…"


def _read_text(text: str, annotation: Any) -> Any:
    """Parse a value from the environment or the command line. A list is written `a,b` or as JSON."""
    bare = getattr(annotation, "__origin__", annotation) if _metadata(annotation) else annotation
    if bare in (str, int, float, bool):
        return text
    if text.lstrip().startswith(("[", "{")):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return [item.strip() for item in text.split(",") if item.strip()]


def _keys(kind: type[msgspec.Struct], prefix: str) -> Iterator[Key]:
    hints = get_type_hints(kind, include_extras=True)
    for field in msgspec.structs.fields(kind):
        annotation, default = hints[field.name], _default(field)
        if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
            yield from _keys(annotation, f"{prefix}{field.name}.")
        else:
            yield Key(
                prefix + field.name, _type_text(annotation), default, _description(field.name, annotation), annotation
            )


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default


def _metadata(annotation: Any) -> list[msgspec.Meta]:
    return [meta for meta in getattr(annotation, "__metadata__", ()) if isinstance(meta, msgspec.Meta)]


def _description(name: str, annotation: Any) -> str:
    texts = [meta.description for meta in _metadata(annotation) if meta.description]
    return texts[-1] if texts else name.replace("_", " ").capitalize() + "."


def _type_text(annotation: Any) -> str:
    """Return a description of a type: `integer, at least 0`; `list of text`; `one of debug, info`."""
    bare = getattr(annotation, "__origin__", annotation) if _metadata(annotation) else annotation
    names = {bool: "true or false", int: "integer", float: "number", str: "text"}
    text = names.get(bare) or ("list of text" if "str" in str(bare) else str(bare))
    for meta in _metadata(annotation):
        for limit, word in ((meta.ge, "at least"), (meta.gt, "above"), (meta.le, "at most"), (meta.lt, "below")):
            text += f", {word} {limit:.10g}" if limit is not None else ""
        if meta.pattern:
            pattern = meta.pattern.strip("^$()")
            text = "one of " + pattern.replace("|", ", ") if "|" in pattern else f"{text} of the form {pattern}"
    return text
