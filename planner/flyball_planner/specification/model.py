"""The section `model`: a family by its keys, a well-known model, a Hugging Face configuration, or a shape."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, cast

import msgspec
from msgspec import Struct, field

from flyball_planner.models.cost import ModelCost
from flyball_planner.models.families import find_family, model_cost, model_names, specification_keys, transformer_shape
from flyball_planner.models.specification import UnfitKey
from flyball_planner.models.transformer.shape import Kind, TransformerShape
from flyball_planner.specification.keys import MODEL, TRAINING
from flyball_reports.errors import InputError
from flyball_reports.specification.entry import Entry
from flyball_reports.specification.problems import unknown
from flyball_reports.specification.sections import Findings, Key, read_section

Files = Callable[[str], str]

OF_TRAINING = {
    "n": "samples",
    "batch_size": "batch_size",
    "epochs": "epochs",
    "precision": "precision",
    "sequence": "sequence",
}
"""Keys of a model that say how it is trained, and their names in the section `training`."""


AT_LEAST_ONE = frozenset({"layers", "hidden", "heads", "kv_heads", "head_dim", "ffn"})
LARGEST_DIMENSION = 10**9


class Model(Struct, frozen=True):
    """What is trained, and what its own keys say of the training."""

    name: str
    subject: TransformerShape | ModelCost
    said: Mapping[str, Any] = field(default_factory=dict)


def read_model(entry: Entry | None, sequence: int | None, findings: Findings, files: Files) -> Model | None:
    """The model, or nothing where it has a fault, which is told; learned positions are as many as the sequence has."""
    if entry is None or entry.value is None:
        return None
    if not isinstance(entry.value, dict):
        findings.add("model", f"expected keys (name, huggingface, shape), not {entry.told()}")
        return None
    if "shape" in entry.value:
        return _of_shape(entry.value, findings)
    if "huggingface" in entry.value:
        return _of_huggingface(entry.value, findings, files)
    if "name" not in entry.value:
        findings.add("model.name", "is missing; name one of flyball models --list, or give huggingface: or shape:")
        return None
    return _of_name(entry.value, sequence, findings)


def _of_name(keys: Mapping[str, Entry], sequence: int | None, findings: Findings) -> Model | None:
    if keys["name"].value is None or isinstance(keys["name"].value, dict | list):
        findings.add("model.name", f"expected text, not {keys['name'].told()}")
        return None
    name = str(keys["name"].value)
    try:
        family = find_family(name)
    except InputError:
        return _named(name, keys, findings)
    own = {key: entry.plain for key, entry in keys.items() if key not in {"name", "huggingface", "shape"}}
    if sequence and "sequence" in {key.name for key in specification_keys(family.name)} and "sequence" not in own:
        own["sequence"] = sequence
    return _of_family(family.name, own, findings)


def _named(name: str, keys: Mapping[str, Entry], findings: Findings) -> Model | None:
    # Sixty kinds of configurations take their time to import, and most specifications name none of them.
    from flyball_planner.models.transformer.named import named_shape, shape_names  # noqa: PLC0415

    try:
        shape = named_shape(name)
    except InputError:
        findings.add("model.name", unknown("model", name, (*model_names(), *shape_names())))
        return None
    return Model(name, shape, _training_keys(keys, ("name",), findings))


def _of_family(name: str, own: dict[str, Any], findings: Findings) -> Model | None:
    """Every wrong key is told: after each fault the rest is read again without it."""
    told: set[str] = set()
    rest = dict(own)
    while True:
        try:
            subject = transformer_shape(name, rest) or model_cost(name, rest)
            break
        except UnfitKey as error:
            if error.key in told:  # that it is missing, or what stands in its place by default, is no second fault
                return None
            told.add(error.key)
            fault = str(error).removeprefix(f"model {error.model}, key {error.key!r}: ")
            findings.add(f"model.{error.key}", fault)
            if error.key not in rest:
                return None
            del rest[error.key]
    if told:
        return None
    return Model(name, subject, _said(name, own, subject))


def _said(name: str, own: Mapping[str, Any], subject: TransformerShape | ModelCost) -> dict[str, Any]:
    """What the model's keys say of the training."""
    keys = {key.name: key for key in specification_keys(name)}
    said = {OF_TRAINING[key]: own[key] for key in OF_TRAINING if key in own and key in keys}
    if find_family(name).shape is None:
        said.pop("samples", None)  # the cost tells samples and passes itself
        said.pop("epochs", None)
    if isinstance(subject, ModelCost) and not subject.trained_by_gradient:
        said.pop("precision", None)  # of its data, not of a training by gradient steps
    return said


def _of_huggingface(keys: Mapping[str, Entry], findings: Findings, files: Files) -> Model | None:
    from flyball_planner.models.transformer.huggingface.read import shape_from_huggingface  # noqa: PLC0415

    said = _training_keys(keys, ("name", "huggingface"), findings)
    source = keys["huggingface"]
    try:
        config = _configuration(source, files)
        shape = shape_from_huggingface(config)
    except OSError as error:
        findings.add("model.huggingface", f"{source.value} cannot be read: {error.strerror or error}")
    except (ValueError, OverflowError) as error:
        findings.add("model.huggingface", f"a value of the configuration will not do: {error}")
    except InputError as error:
        findings.add("model.huggingface", str(error))
    else:
        name = str(keys["name"].value) if "name" in keys else shape.name or str(config.get("model_type", "transformer"))
        return Model(name, shape, said)
    return None


def _configuration(source: Entry, files: Files) -> dict[str, Any]:
    """Its keys, as they stand here or in the file that is named."""
    if isinstance(source.value, dict):
        return cast("dict[str, Any]", source.plain)
    import json  # noqa: PLC0415  few specifications name such a file

    try:
        config = json.loads(files(str(source.value)))
    except ValueError as error:  # also where it is no text
        raise InputError(f"{source.value} is no JSON: {error}") from None
    if not isinstance(config, dict):
        raise InputError("expected the keys of a config.json")
    return config


def _of_shape(keys: Mapping[str, Entry], findings: Findings) -> Model | None:
    said = _training_keys(keys, ("name", "shape"), findings)
    given = keys["shape"]
    if not isinstance(given.value, dict):
        findings.add("model.shape", f"expected the dimensions of a transformer, not {given.told()}")
        return None
    faults = len(findings.problems)
    values = {name: _field(name, entry, findings) for name, entry in given.value.items() if _known(name, findings)}
    name = str(keys["name"].value) if "name" in keys else "transformer"
    for missing in {"layers", "hidden", "heads", "vocab"} - given.value.keys():
        findings.add(f"model.shape.{missing}", "is missing")
    if len(findings.problems) == faults and "head_dim" not in values and values["hidden"] % values["heads"]:
        findings.add(
            "model.shape.heads", f"{values['heads']} heads do not divide a width of {values['hidden']}: give head_dim"
        )
    if len(findings.problems) > faults:
        return None
    return Model(name, TransformerShape(**{**_usual(values), **values, "name": name}), said)


def _usual(values: Mapping[str, Any]) -> dict[str, Any]:
    """What a shape need not say."""
    heads, hidden = values["heads"], values["hidden"]
    return {"kind": Kind.DECODER, "kv_heads": heads, "head_dim": hidden // heads, "ffn": 4 * hidden}


def _known(name: str, findings: Findings) -> bool:
    known = name in _fields()
    if not known:
        findings.add(f"model.shape.{name}", unknown("dimension", name, _fields()))
    return known


def _field(name: str, entry: Entry, findings: Findings) -> Any:
    kind = _fields()[name]
    try:
        value = msgspec.convert(entry.plain, kind)
    except msgspec.ValidationError as error:
        findings.add(f"model.shape.{name}", f"{_lowered(str(error))}, not {entry.told()}")
        return None
    least = 1 if name in AT_LEAST_ONE else 0
    if isinstance(value, int) and not least <= value <= LARGEST_DIMENSION:
        findings.add(
            f"model.shape.{name}", f"expected a whole number from {least} to {LARGEST_DIMENSION:,}, not {value}"
        )
    return value


@cache
def _fields() -> dict[str, Any]:
    return {each.name: each.type for each in msgspec.structs.fields(TransformerShape)}


def _lowered(words: str) -> str:
    return words[:1].lower() + words[1:]


def _training_keys(keys: Mapping[str, Entry], others: tuple[str, ...], findings: Findings) -> dict[str, Any]:
    """What a model without keys of its own may say of its training, read as the section `training` would."""
    readers = {key.name: key for key in TRAINING}
    allowed = [Key(name, readers[meant].reader, readers[meant].meaning) for name, meant in OF_TRAINING.items()]
    named = [key for key in MODEL if key.name in others]
    found = read_section("model", Entry(dict(keys), 0), [*named, *allowed], findings)
    return {OF_TRAINING[name]: value for name, value in found.items() if name in OF_TRAINING}
