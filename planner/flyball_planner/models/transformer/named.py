"""Well-known transformers by name; their dimensions are data with sources."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.read import shape_from_huggingface
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_reports.errors import UnknownName

VARIANTS = frozenset(
    {"instruct", "chat", "it", "hf", "pt", "uncased", "squad", "4k", "8k", "128k", "1124", "0425", "0325"}
)
"""Parts of names where the shape is the same: trained further, a longer context, case, a date."""


class Named(msgspec.Struct, frozen=True):
    """One well-known model; `config` is in the form of a `config.json`."""

    names: tuple[str, ...]
    source: str
    config: dict[str, Any]


def named_shape(name: str) -> TransformerShape:
    """The shape of a well-known model as "llama-3.1-8b"; case, punctuation and an owner before "/" do not matter."""
    return replace(shape_from_huggingface(find_named(name).config), name=name)


def find_named(name: str) -> Named:
    """A well-known model by any of its names."""
    known = _by_name()
    essential = "".join(part for part in re.split(r"[-_ ]", name.rsplit("/", 1)[-1]) if part.casefold() not in VARIANTS)
    for plain in (_plain(name), _plain(essential)):
        if plain in known:
            return known[plain]
    raise UnknownName("well-known transformer", name, shape_names(), instead="give its config.json or its shape")


@cache
def shape_names() -> tuple[str, ...]:
    """The well-known models, each by its first name."""
    return tuple(each.names[0] for each in _entries())


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9.]", "", name.rsplit("/", 1)[-1].casefold())


@cache
def _by_name() -> Mapping[str, Named]:
    return {_plain(name): each for each in _entries() for name in each.names}


@cache
def _entries() -> tuple[Named, ...]:
    text = (Path(__file__).parent / "data" / "named.json").read_bytes()
    return msgspec.json.decode(text, type=tuple[Named, ...])
