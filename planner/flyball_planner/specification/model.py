"""The section `model`: a model family with its keys, a known model, a Hugging Face configuration, or a shape."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, cast

import msgspec
from msgspec import Struct, field

from flyball_planner.models.cost import ModelCost
from flyball_planner.models.families import find_family, model_cost, model_names, specification_keys, transformer_shape
from flyball_planner.models.specification import UnfitKey
from flyball_planner.models.transformer.shape import TransformerKind, TransformerShape
from flyball_planner.specification.keys import MODEL, TRAINING
from flyball_reports.errors import InputError, read_fault
from flyball_reports.specification.problems import unknown
from flyball_reports.specification.sections import SectionKey, SpecificationFaults, read_section
from flyball_reports.specification.source_value import SourceValue

Files = Callable[[str], str]

OF_TRAINING = {
    "n": "samples",
    "batch_size": "batch_size",
    "epochs": "epochs",
    "precision": "precision",
    "sequence": "sequence",
}
"""Keys of a model that describe the training, and their names in the section `training`."""


AT_LEAST_ONE = frozenset({"layers", "hidden", "heads", "kv_heads", "head_dim", "ffn"})
LARGEST_DIMENSION = 10**9


class Model(Struct, frozen=True):
    """The model, and what its own keys state about the training."""

    name: str
    subject: TransformerShape | ModelCost
    training: Mapping[str, Any] = field(default_factory=dict)


def read_model(
    entry: SourceValue | None, sequence: int | None, faults: SpecificationFaults, files: Files
) -> Model | None:
    """Return the model; nothing if it has a fault, which is reported. Learned positions follow the sequence."""
    if entry is None or entry.value is None:
        return None
    if not isinstance(entry.value, dict):
        faults.add("model", f"expected keys (name, huggingface, shape), not {entry.description()}")
        return None
    if "shape" in entry.value:
        return _of_shape(entry.value, faults)
    if "huggingface" in entry.value:
        return _of_huggingface(entry.value, faults, files)
    if "name" not in entry.value:
        faults.add("model.name", "is missing; name one of `flyball models`, or use huggingface: or shape:")
        return None
    return _of_name(entry.value, sequence, faults)


def _of_name(keys: Mapping[str, SourceValue], sequence: int | None, faults: SpecificationFaults) -> Model | None:
    if keys["name"].value is None or isinstance(keys["name"].value, dict | list):
        faults.add("model.name", f"expected text, not {keys['name'].description()}")
        return None
    name = str(keys["name"].value)
    try:
        family = find_family(name)
    except InputError:
        return _named(name, keys, faults)
    given = {key: entry.plain for key, entry in keys.items() if key not in {"name", "huggingface", "shape"}}
    if sequence and "sequence" in {key.name for key in specification_keys(family.name)} and "sequence" not in given:
        given["sequence"] = sequence
    return _of_family(family.name, given, faults)


def _named(name: str, keys: Mapping[str, SourceValue], faults: SpecificationFaults) -> Model | None:
    # Sixty kinds of configurations take time to import, and most specifications do not need them.
    from flyball_planner.models.transformer.named_shapes import named_shape, shape_names  # noqa: PLC0415

    try:
        shape = named_shape(name)
    except InputError:
        faults.add("model.name", unknown("model", name, (*model_names(), *shape_names())))
        return None
    return Model(name, shape, _training_keys(keys, ("name",), faults))


def _of_family(name: str, given: dict[str, Any], faults: SpecificationFaults) -> Model | None:
    """Read a family's keys and report every wrong one: after each fault the rest is read again without it."""
    reported: set[str] = set()
    rest = dict(given)
    while True:
        try:
            subject = transformer_shape(name, rest) or model_cost(name, rest)
            break
        except UnfitKey as error:
            if error.key in reported:  # its absence, or its default, is not a second fault
                return None
            reported.add(error.key)
            fault = str(error).removeprefix(f"model {error.model}, key {error.key!r}: ")
            faults.add(f"model.{error.key}", fault)
            if error.key not in rest:
                return None
            del rest[error.key]
    if reported:
        return None
    return Model(name, subject, _training_values(name, given, subject))


def _training_values(name: str, given: Mapping[str, Any], subject: TransformerShape | ModelCost) -> dict[str, Any]:
    """Return what the model's keys state about the training."""
    keys = {key.name: key for key in specification_keys(name)}
    values = {OF_TRAINING[key]: given[key] for key in OF_TRAINING if key in given and key in keys}
    if find_family(name).shape is None:
        values.pop("samples", None)  # the cost has its own samples and passes
        values.pop("epochs", None)
    if isinstance(subject, ModelCost) and not subject.trained_by_gradient:
        values.pop("precision", None)  # this is the precision of the data, not of gradient steps
    return values


def _of_huggingface(keys: Mapping[str, SourceValue], faults: SpecificationFaults, files: Files) -> Model | None:
    from flyball_planner.models.transformer.huggingface.reader import shape_from_huggingface  # noqa: PLC0415

    training = _training_keys(keys, ("name", "huggingface"), faults)
    source = keys["huggingface"]
    try:
        config = _configuration(source, files)
        shape = shape_from_huggingface(config)
    except OSError as error:
        faults.add("model.huggingface", read_fault(str(source.value), error))
    except (ValueError, OverflowError) as error:
        faults.add("model.huggingface", f"invalid value in the configuration: {error}")
    except InputError as error:
        faults.add("model.huggingface", str(error))
    else:
        name = str(keys["name"].value) if "name" in keys else shape.name or str(config.get("model_type", "transformer"))
        return Model(name, shape, training)
    return None


def _configuration(source: SourceValue, files: Files) -> dict[str, Any]:
    """Return the keys of a configuration, from here or from a file."""
    if isinstance(source.value, dict):
        return cast("dict[str, Any]", source.plain)
    import json  # noqa: PLC0415  rarely needed

    try:
        config = json.loads(files(str(source.value)))
    except ValueError as error:  # also for a file that is not text
        raise InputError(f"{source.value} is not valid JSON: {error}") from None
    if not isinstance(config, dict):
        raise InputError("expected the keys of a config.json")
    return config


def _of_shape(keys: Mapping[str, SourceValue], faults: SpecificationFaults) -> Model | None:
    training = _training_keys(keys, ("name", "shape"), faults)
    given = keys["shape"]
    if not isinstance(given.value, dict):
        faults.add("model.shape", f"expected the dimensions of a transformer, not {given.description()}")
        return None
    before = len(faults.problems)
    values = {name: _field(name, entry, faults) for name, entry in given.value.items() if _known(name, faults)}
    name = str(keys["name"].value) if "name" in keys else "transformer"
    for missing in {"layers", "hidden", "heads", "vocab"} - given.value.keys():
        faults.add(f"model.shape.{missing}", "is missing")
    if len(faults.problems) == before and "head_dim" not in values and values["hidden"] % values["heads"]:
        faults.add(
            "model.shape.heads", f"{values['heads']} heads do not divide a width of {values['hidden']}; set head_dim"
        )
    if len(faults.problems) > before:
        return None
    return Model(name, TransformerShape(**{**_defaults(values), **values, "name": name}), training)


def _defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return defaults for dimensions that a shape may omit."""
    heads, hidden = values["heads"], values["hidden"]
    return {"kind": TransformerKind.DECODER, "kv_heads": heads, "head_dim": hidden // heads, "ffn": 4 * hidden}


def _known(name: str, faults: SpecificationFaults) -> bool:
    known = name in _fields()
    if not known:
        faults.add(f"model.shape.{name}", unknown("dimension", name, _fields()))
    return known


def _field(name: str, entry: SourceValue, faults: SpecificationFaults) -> Any:
    kind = _fields()[name]
    try:
        value = msgspec.convert(entry.plain, kind)
    except msgspec.ValidationError as error:
        faults.add(f"model.shape.{name}", f"{_lowered(str(error))}, not {entry.description()}")
        return None
    least = 1 if name in AT_LEAST_ONE else 0
    if isinstance(value, int) and not least <= value <= LARGEST_DIMENSION:
        faults.add(f"model.shape.{name}", f"expected an integer from {least} to {LARGEST_DIMENSION:,}, not {value}")
    return value


@cache
def _fields() -> dict[str, Any]:
    return {each.name: each.type for each in msgspec.structs.fields(TransformerShape)}


def _lowered(words: str) -> str:
    return words[:1].lower() + words[1:]


def _training_keys(
    keys: Mapping[str, SourceValue], others: tuple[str, ...], faults: SpecificationFaults
) -> dict[str, Any]:
    """Read the training keys of a model without own keys, as the section `training` would."""
    readers = {key.name: key for key in TRAINING}
    allowed = [SectionKey(name, readers[key].reader, readers[key].meaning) for name, key in OF_TRAINING.items()]
    named = [key for key in MODEL if key.name in others]
    found = read_section("model", SourceValue(dict(keys), 0), [*named, *allowed], faults)
    return {OF_TRAINING[name]: value for name, value in found.items() if name in OF_TRAINING}
