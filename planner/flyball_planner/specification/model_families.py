"""The section `model` with the keys of a family, such as the layers of a perceptron."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from flyball_planner.models.cost import ModelCost
from flyball_planner.models.families import model_cost, specification_keys, transformer_shape
from flyball_planner.models.family import ModelFamily
from flyball_planner.models.specification import ModelKey, ModelSpecification, UnfitKey, read_specification
from flyball_planner.models.spellings import expanded, key_of, meant, value_of
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.precision import PRECISIONS
from flyball_planner.specification.aliases import idle
from flyball_reports.errors import InputError
from flyball_reports.specification.sections import SpecificationFaults

OF_TRAINING = {
    "n": "samples",
    "batch_size": "batch_size",
    "epochs": "epochs",
    "precision": "precision",
    "sequence": "sequence",
}
"""Keys of a model that describe the training, and their names in the section `training`."""

MOST_CLASSES_OF_ONE = 2  # with more classes, a classifier that separates two is trained several times


class Model(Struct, frozen=True):
    """The model, and what its own keys state about the training."""

    name: str
    subject: TransformerShape | ModelCost
    training: Mapping[str, Any] = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict)  # the model's names of these keys
    idle: tuple[str, ...] = ()  # keys that do not change an estimate
    remarks: tuple[str, ...] = ()


class _Given(Struct, frozen=True):
    """The keys of a model that its family knows."""

    values: dict[str, Any]
    idle: tuple[str, ...]
    remarks: tuple[str, ...]


def read_family(
    family: ModelFamily, given: dict[str, Any], training: Mapping[str, Any], faults: SpecificationFaults
) -> Model | None:
    """Return the model; nothing if it has a fault, which is reported."""
    if family.function is not None:
        return _registered(family, given, faults)
    keys = {key.name: key for key in specification_keys(family.name)}
    known = _known(family, {**_shared(family, given, training, keys), **given}, keys)
    subject = _subject(family.name, known.values, faults)
    if subject is None:
        return None
    training, written = _training_values(family, known.values, subject)
    return Model(family.name, subject, training, written, known.idle, known.remarks)


def _shared(
    family: ModelFamily, given: Mapping[str, Any], training: Mapping[str, Any], keys: Mapping[str, ModelKey]
) -> dict[str, Any]:
    """Return what the section `training` states about the model, and the model's own keys do not."""
    stated = {key_of(name, keys, family.specification.spellings) for name in given}
    taken = {"sequence": training.get("sequence")}
    if "n" in keys and keys["n"].required:  # without samples of its own, this model cannot be planned
        taken["n"] = training.get("samples")
    return {key: value for key, value in taken.items() if value and key in keys and key not in stated}


def _known(family: ModelFamily, given: Mapping[str, Any], keys: Mapping[str, ModelKey]) -> _Given:
    """Separate keys that do not change an estimate, and formats in which the model's libraries do not compute."""
    values, unused, remarks = dict[str, Any](), list[str](), list[str]()
    for name, value in expanded(given, keys).items():
        key = meant(name, value, keys, family.specification.spellings)
        if key is None and _is_idle(name, value, keys):
            unused.append(name)
            continue
        if key is None and _is_format(name, value):
            remarks.append(f"precision {value}: not used, because the libraries for {family.name} have one format")
            continue
        asked = value_of("precision", value) if key == "precision" else value
        if key == "precision" and isinstance(asked, str) and asked in PRECISIONS and asked not in keys[key].choices:
            remarks.append(f"precision {value}: the libraries for {family.name} compute in fp32 at least")
            asked = "fp32"
        values[name] = asked
    return _Given(values, tuple(unused), tuple(remarks))


def _is_idle(name: str, value: object, keys: Mapping[str, ModelKey]) -> bool:
    """Return True for settings that no estimate depends on, and for gradient steps of a model that has none."""
    if key_of(name, ("classes", "d_out")) is not None:
        return isinstance(value, int) and value <= MOST_CLASSES_OF_ONE
    steps = "batch_size" not in keys and key_of(name, ("batch_size", "epochs")) is not None
    return steps or idle(name)


def _is_format(name: str, value: object) -> bool:
    return key_of(name, ("precision",)) is not None and str(value_of("precision", value)) in {*PRECISIONS, "fp64"}


def _subject(name: str, given: Mapping[str, Any], faults: SpecificationFaults) -> TransformerShape | ModelCost | None:
    """Read a family's keys and report every wrong one: after each fault the rest is read again without it."""
    reported: set[str] = set()
    rest = dict(given)
    while True:
        try:
            subject = transformer_shape(name, rest) or model_cost(name, rest)
            return None if reported else subject
        except UnfitKey as error:
            if error.key in reported:  # its absence, or its default, is not a second fault
                return None
            reported.add(error.key)
            fault = str(error).removeprefix(f"model {error.model}, key {error.key!r}: ")
            faults.add(f"model.{error.key}", fault)
            if error.key not in rest:
                return None
            del rest[error.key]


def _training_values(
    family: ModelFamily, given: Mapping[str, Any], subject: TransformerShape | ModelCost
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return what the model's keys state about the training, and the names that they have in the model."""
    values = _stated(family.specification, given)
    if family.shape is None:
        values.pop("n", None)  # the cost has its own samples and passes
        values.pop("epochs", None)
    if isinstance(subject, ModelCost) and not subject.trained_by_gradient:
        values.pop("precision", None)  # this is the precision of the data, not of gradient steps
    found = {OF_TRAINING[key]: value for key, (_, value) in values.items()}
    return found, {OF_TRAINING[key]: name for key, (name, _) in values.items()}


def _stated(kind: type[ModelSpecification], given: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    """Return the names and typed values of the keys that describe the training."""
    typed = read_specification(kind, "", given)
    keys = kind.__struct_fields__
    named = {meant(name, value, keys, kind.spellings): name for name, value in given.items() if value is not None}
    return {key: (named[key], getattr(typed, key)) for key in OF_TRAINING if key in named}


def _registered(family: ModelFamily, given: Mapping[str, Any], faults: SpecificationFaults) -> Model | None:
    """Pass all keys to the function of a registered model."""
    from flyball_planner.models.registered import training_keys  # noqa: PLC0415  few models are registered

    try:
        subject = model_cost(family.name, given)
    except UnfitKey as error:
        fault = str(error).removeprefix(f"model {error.model}, key {error.key!r}: ")
        faults.add(f"model.{error.key}", fault)
        return None
    except InputError as error:
        faults.add("model.name", str(error))
        return None
    training, written = _training_values(family, training_keys(given), subject)
    return Model(family.name, subject, training, written)
