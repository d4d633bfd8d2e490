"""Validate a dashboard against the typed models of the pinned SDK, which are generated from Grafana's schema.

The SDK's `from_json` accepts anything. Here every key must exist in the model, every value must have the declared type,
and every required key must be present.
"""

import inspect
import re
import types
from collections.abc import Iterator
from enum import Enum
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from grafana_foundation_sdk.cog.variants import Dataquery
from grafana_foundation_sdk.models import dashboard, prometheus

_WRITES = re.compile(r'"(\w+)"\]?(?::| =) self\.(\w+)')
LEFT_OUT = {(dashboard.DashboardLink, "placement"), (dashboard.AnnotationQuery, "placement")}
"""Optional in Grafana. The SDK always sets it, which would hide every link and annotation in a menu."""
_SCALARS: dict[object, tuple[type, ...]] = {str: (str,), bool: (bool,), int: (int,), float: (int, float)}


def faults(document: object) -> list[str]:
    """Return the faults of a dashboard, each with its place."""
    return list(_value(document, dashboard.Dashboard, "dashboard"))


def _value(value: object, wanted: Any, place: str) -> Iterator[str]:
    origin = get_origin(wanted)
    if wanted is Dataquery:
        yield from _model(value, prometheus.Dataquery, place)
    elif wanted in (object, Any):
        return
    elif origin in (Union, types.UnionType):
        yield from _union(value, get_args(wanted), place)
    elif origin is Literal:
        yield from () if value in get_args(wanted) else (f"{place}: {value!r} is none of {get_args(wanted)}",)
    elif origin is list:
        yield from _items(value, get_args(wanted)[0], place)
    elif origin is dict:
        yield from _entries(value, get_args(wanted)[1], place)
    elif inspect.isclass(wanted) and issubclass(wanted, Enum):
        known = {member.value for member in wanted}
        yield from () if value in known else (f"{place}: {value!r} is none of {sorted(map(str, known))}",)
    elif wanted in _SCALARS:
        right = isinstance(value, _SCALARS[wanted]) and (wanted is bool or not isinstance(value, bool))
        yield from () if right else (f"{place}: {value!r} is not of type {wanted.__name__}",)
    else:
        yield from _model(value, wanted, place)


def _union(value: object, alternatives: tuple[Any, ...], place: str) -> Iterator[str]:
    if value is None and type(None) in alternatives:
        return
    tried = [list(_value(value, each, place)) for each in alternatives if each is not type(None)]
    if all(tried):
        yield from min(tried, key=len)


def _items(value: object, wanted: Any, place: str) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{place}: {value!r} is not a list"
        return
    for number, item in enumerate(value):
        yield from _value(item, wanted, f"{place}[{number}]")


def _entries(value: object, wanted: Any, place: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{place}: {value!r} is not a mapping"
        return
    for key, item in value.items():
        yield from _value(item, wanted, f"{place}.{key}")


def _model(value: object, model: type, place: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{place}: {value!r} is not a {model.__name__}"
        return
    fields = _fields(model)
    yield from (f"{place}: {model.__name__} has no key {key!r}" for key in value if key not in fields)
    for key, wanted in fields.items():
        if key in value:
            yield from _value(value[key], wanted, f"{place}.{key}")
        elif not _optional(wanted) and (model, key) not in LEFT_OUT:
            yield f"{place}: {model.__name__} needs {key!r}"
    if model is dashboard.Panel:
        yield from _plugin(value, place)


def _plugin(panel: dict[str, Any], place: str) -> Iterator[str]:
    """Validate options and field settings, whose schema belongs to the plugin of the panel."""
    name = f"grafana_foundation_sdk.models.{str(panel.get('type')).replace('-', '')}"
    if find_spec(name) is None:
        yield f"{place}: no panel of type {panel.get('type')!r}"
        return
    plugin = import_module(name)
    yield from _value(panel["options"], plugin.Options, f"{place}.options")
    custom = panel["fieldConfig"]["defaults"].get("custom")
    if custom is not None:
        yield from _value(custom, plugin.FieldConfig, f"{place}.fieldConfig.defaults.custom")


@cache
def _fields(model: type) -> dict[str, Any]:
    """Return the keys of the document with their types."""
    hints = get_type_hints(model, vars(import_module(model.__module__)))
    written = _WRITES.findall(inspect.getsource(model.to_json))  # type: ignore[attr-defined]  # all models define it
    return {key: hints[attribute] for key, attribute in written}


def _optional(wanted: Any) -> bool:
    return wanted in (object, Any) or type(None) in get_args(wanted)
