"""Errors of parameters and bodies in words: which one, what is wrong, and what is expected."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, Protocol, get_args, get_origin

import msgspec

_BODY = "data"  # the name of the parameter of a handler that takes the body
_NO_CHOICE = "Invalid enum value "


class HandlerParameter(Protocol):
    """The part of a parameter's description that is needed here."""

    @property
    def annotation(self) -> Any:
        """Return its type."""

    @property
    def kwarg_definition(self) -> Any:
        """Return where it comes from, with its name in the request."""


def faults_in_words(faults: Iterable[Mapping[str, Any]], parameters: Mapping[str, HandlerParameter]) -> Iterator[str]:
    """Yield a text for each fault that the framework has found."""
    for fault in faults:
        key, message = str(fault.get("key", "?")), str(fault.get("message", ""))
        if key == _BODY and message == repr(_BODY):
            yield f"the body is missing; expected {_expected_body(parameters.get(_BODY))}"
            continue
        name, kind = _described(key, fault.get("source") == "body", parameters)
        choices = _choices(kind)
        if message.startswith(_NO_CHOICE) and choices:
            message = f"{message.removeprefix(_NO_CHOICE)} is not one of {', '.join(choices)}"
        yield f"{name}: {message}"


def _described(key: str, is_in_body: bool, parameters: Mapping[str, HandlerParameter]) -> tuple[str, Any]:
    """Return the name that the client has used, and the type; None if it is not known."""
    if is_in_body:
        return key, {field.encode_name: field.type for field in _fields(parameters.get(_BODY))}.get(key)
    parameter = parameters.get(key)
    if parameter is None:
        return key, None
    return getattr(parameter.kwarg_definition, "name", None) or key, parameter.annotation


def _expected_body(parameter: HandlerParameter | None) -> str:
    required = [field.encode_name for field in _fields(parameter) if field.required]
    return f"JSON with {', '.join(required)}" if required else "JSON, at least {}"


def _fields(parameter: HandlerParameter | None) -> tuple[msgspec.structs.FieldInfo, ...]:
    kind = None if parameter is None else parameter.annotation
    return msgspec.structs.fields(kind) if isinstance(kind, type) and issubclass(kind, msgspec.Struct) else ()


def _choices(kind: Any) -> list[str]:
    """Return the texts that a type allows, without the empty one. Empty if it allows any."""
    return [str(each) for each in get_args(kind) if each != ""] if get_origin(kind) is Literal else []
