"""Reasons of unknown values."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

Reasons = dict[str, str]
"""Reasons by the path of the value, such as `memory.kind`."""


def add_reasons(reasons: Reasons, path: str, part: Any, known: Mapping[str, str]) -> None:
    """Add the usual reason of each value of a part that is unknown and has no special reason yet."""
    for field in fields(part):
        if getattr(part, field.name) is None and field.name in known:
            reasons.setdefault(f"{path}.{field.name}", known[field.name])
