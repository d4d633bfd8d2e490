"""The section `model`: a model family with its keys, a known model, a Hugging Face configuration, or a shape."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.models.families import LIBRARIES, known_family, model_names
from flyball_planner.models.similar_names import model_question
from flyball_planner.models.spellings import key_of, plain, value_of
from flyball_planner.models.transformer.shape import TransformerKind, TransformerShape
from flyball_planner.specification.aliases import idle
from flyball_planner.specification.keys import MODEL, TRAINING
from flyball_planner.specification.model_families import OF_TRAINING, Model, read_family
from flyball_reports.errors import InputError, read_fault
from flyball_reports.specification.problems import Problem, unknown
from flyball_reports.specification.sections import SectionKey, SpecificationFaults, read_section
from flyball_reports.specification.source_value import SourceValue, shortened

Files = Callable[[str], str]

AT_LEAST_ONE = frozenset({"layers", "hidden", "heads", "kv_heads", "head_dim", "ffn"})
LARGEST_DIMENSION = 10**9
OWN_MODELS = "`flyball models` lists all; --models-file or register_model() adds your own"


class TrainingKeys(Struct, frozen=True):
    """The section `model` on the training: its values, the names that it uses, and keys without an effect."""

    values: dict[str, Any]
    written: dict[str, str]
    idle: tuple[str, ...]


def read_model(
    entry: SourceValue | None, training: Mapping[str, Any], faults: SpecificationFaults, files: Files
) -> Model | None:
    """Return the model; nothing if it has a fault, which is reported.

    Learned positions follow the sequence of the section `training`, and a classical model has its samples.
    """
    if entry is None or entry.value is None:
        return None
    if not isinstance(entry.value, dict):
        faults.add("model", f"expected keys (name, huggingface, shape), not {entry.description()}")
        return None
    if "shape" in entry.value:
        return _of_shape(entry.value, faults)
    if "huggingface" in entry.value:
        return _of_huggingface(entry.value, training.get("sequence"), faults, files)
    if "name" not in entry.value:
        faults.add("model.name", "is missing; name one of `flyball models`, or use huggingface: or shape:")
        return None
    return _of_name(entry.value, training, faults)


def _of_name(keys: Mapping[str, SourceValue], training: Mapping[str, Any], faults: SpecificationFaults) -> Model | None:
    if keys["name"].value is None or isinstance(keys["name"].value, dict | list):
        faults.add("model.name", f"expected text, not {keys['name'].description()}")
        return None
    name = str(keys["name"].value)
    family = known_family(name)
    if family is None:
        return _named(name, keys, training.get("sequence"), faults)
    given = {key: entry.plain for key, entry in keys.items() if key not in {"name", "huggingface", "shape"}}
    if plain(name) in LIBRARIES and "library" in family.specification.__struct_fields__:
        given = {"library": plain(name), **given}
    return read_family(family, given, training, faults)


def _named(
    name: str, keys: Mapping[str, SourceValue], sequence: int | None, faults: SpecificationFaults
) -> Model | None:
    # Sixty kinds of configurations take time to import, and most specifications do not need them.
    from flyball_planner.models.any_configuration import known_names, named_subject  # noqa: PLC0415

    before = len(faults.problems)
    training = _training_keys(keys, ("name",), faults)
    try:
        subject = named_subject(name, training.values.get("sequence") or sequence)
    except InputError:
        del faults.problems[before:]  # which keys are right depends on the model
        hint = model_question(name, (*model_names(), *known_names()))
        ended = "" if hint.endswith("?") else ";"
        faults.add("model.name", f"unknown model {shortened(name)!r}; {hint}{ended} {OWN_MODELS}")
        return None
    return Model(name, subject, training.values, training.written, training.idle)


def _of_huggingface(
    keys: Mapping[str, SourceValue], sequence: int | None, faults: SpecificationFaults, files: Files
) -> Model | None:
    from flyball_planner.models.any_configuration import subject_from_huggingface  # noqa: PLC0415

    training = _training_keys(keys, ("name", "huggingface"), faults)
    source = keys["huggingface"]
    try:
        config = _configuration(source, files)
        subject = subject_from_huggingface(config, training.values.get("sequence") or sequence)
    except OSError as error:
        faults.add("model.huggingface", read_fault(str(source.value), error))
    except (ValueError, OverflowError) as error:
        faults.add("model.huggingface", f"invalid value in the configuration: {error}")
    except InputError as error:
        faults.add("model.huggingface", str(error))
    else:
        given = subject.name if isinstance(subject, TransformerShape) else subject.model
        name = str(keys["name"].value) if "name" in keys else given or str(config.get("model_type", "transformer"))
        return Model(name, subject, training.values, training.written, training.idle)
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
    shape = TransformerShape(**{**_defaults(values), **values, "name": name})
    return Model(name, shape, training.values, training.written, training.idle)


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
) -> TrainingKeys:
    """Read the training keys of a model without own keys, as the section `training` would."""
    readers = {key.name: key for key in TRAINING}
    allowed = [SectionKey(name, readers[key].reader, readers[key].meaning) for name, key in OF_TRAINING.items()]
    named = [key for key in MODEL if key.name in others]
    written, given, unused = dict[str, str](), dict[str, SourceValue](), list[str]()
    for name, entry in keys.items():
        key = name if name in others else key_of(name, OF_TRAINING)
        if key is None and idle(name):
            unused.append(name)
            continue
        written[key or name] = name
        value = value_of(key or name, entry.value)
        given[key or name] = SourceValue(value, entry.line) if isinstance(value, str | int) else entry
    before = len(faults.problems)
    found = read_section("model", SourceValue(given, 0), [*named, *allowed], faults)
    faults.problems[before:] = [_as_written(each, written, faults) for each in faults.problems[before:]]
    values = {OF_TRAINING[name]: value for name, value in found.items() if name in OF_TRAINING}
    return TrainingKeys(
        values, {OF_TRAINING[key]: written[key] for key in OF_TRAINING if key in written}, tuple(unused)
    )


def _as_written(problem: Problem, written: Mapping[str, str], faults: SpecificationFaults) -> Problem:
    """Return a problem of the section `model` under the name that its author wrote."""
    key = problem.key.removeprefix("model.")
    path = f"model.{written.get(key, key)}"
    return replace(problem, key=path, line=faults.line(path))
