"""Well-known transformers by name, with their dimensions and sources."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.reader import shape_from_huggingface
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_reports.errors import UnknownName

VARIANTS = frozenset(
    {
        "instruct",
        "chat",
        "it",
        "hf",
        "pt",
        "base",
        "meta",
        "uncased",
        "squad",
        "4k",
        "8k",
        "128k",
        "1124",
        "0425",
        "0325",
    }
)
"""Parts of names that do not change the shape: further training, longer context, an owner, case, a date."""
DATED = r"2[3-9](0[1-9]|1[0-2])"  # year and month, as in Mistral's names
SIZED = r"\d+(\.\d+)?[bm]"
"""A number of parameters. Without one, the date decides the size: Mistral Small has 22B in 2409, 24B in 2501."""


class NamedModel(msgspec.Struct, frozen=True):
    """A well-known model; `config` has the form of a `config.json`."""

    names: tuple[str, ...]
    source: str
    config: dict[str, Any]


def named_shape(name: str) -> TransformerShape:
    """Return the shape of a well-known model such as "llama-3.1-8b", ignoring case, punctuation and an owner before
    "/"."""
    return replace(shape_from_huggingface(find_named(name).config), name=name)


def find_named(name: str) -> NamedModel:
    """Return a well-known model by any of its names."""
    known = _by_name()
    parts = re.split(r"[-_ ]", _bare(name).casefold())
    sized = any(re.fullmatch(SIZED, part) for part in parts)
    essential = "".join(part for part in parts if part not in VARIANTS and not (sized and re.fullmatch(DATED, part)))
    for plain in (_plain(name), _plain(essential)):
        if plain in known:
            return known[plain]
    raise UnknownName("well-known transformer", name, shape_names(), instead="specify its config.json or its shape")


@cache
def shape_names() -> tuple[str, ...]:
    """Return the first name of each well-known model."""
    return tuple(each.names[0] for each in _entries())


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9.]", "", _bare(name).casefold())


def _bare(name: str) -> str:
    """Return a name without its owner; in ViT-L/16 the number is the size of a patch."""
    return re.sub(r"/(?=\d+$)", "-", name).rsplit("/", 1)[-1]


@cache
def _by_name() -> Mapping[str, NamedModel]:
    return {_plain(name): each for each in _entries() for name in each.names}


@cache
def _entries() -> tuple[NamedModel, ...]:
    text = (Path(__file__).parent / "data" / "named.json").read_bytes()
    return msgspec.json.decode(text, type=tuple[NamedModel, ...])
