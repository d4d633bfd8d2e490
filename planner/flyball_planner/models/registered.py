"""Models that users register as a function from a specification to a few figures."""

from collections.abc import Mapping
from math import isfinite, sqrt
from typing import Any

from msgspec import Struct

from flyball_planner.models.classical import FAMILY, NUMBER_BYTES
from flyball_planner.models.complexity import Complexity
from flyball_planner.models.cost import ModelBlock, ModelCost, Operator, OperatorKind
from flyball_planner.models.family import ModelFunction
from flyball_planner.models.specification import LARGEST, NetworkSpecification, read_specification
from flyball_planner.models.spellings import key_of
from flyball_reports.errors import InputError, nearest

Figures = Mapping[str, object]

FORWARD_SHARE = 1 / 3  # of a training step; the backward pass needs twice as much
MATRIX_FORMATS = ("fp32", "fp64")
MOST_FLOPS = 1e40


class OwnKeys(NetworkSpecification, frozen=True, kw_only=True):
    """Keys of a registered function that the planner reads too; all others are only passed to the function."""


class Figure(Struct, frozen=True):
    """One entry of what a function returns."""

    expected: str
    kind: type | tuple[type, ...]
    least: float = 0.0
    most: float = MOST_FLOPS
    required: bool = False


FIGURES: Mapping[str, Figure] = {
    "params": Figure("the number of parameters, an integer of at least 0", (int, float), 0, LARGEST, required=True),
    "train_flops": Figure(
        "the floating-point operations of the complete training, a number above 0", (int, float), 1e-9, required=True
    ),
    "infer_flops_per_sample": Figure("the operations of one prediction, a number of at least 0", (int, float)),
    "complexity_class": Figure("a text such as O(n·d)", str),
    "algorithm": Figure("a text", str),
    "trained_by_gradient": Figure("True or False", bool),
    "activations_per_sample": Figure(
        "the numbers that a sample's forward pass stores, a number of at least 0", (int, float), 0, LARGEST
    ),
    "memory_bytes": Figure("the peak memory of the training with its data, a number of at least 0", (int, float)),
}
"""What a function may return. Without `trained_by_gradient`, a model with a `batch_size` is trained in steps."""


def registered_cost(name: str, function: ModelFunction, given: Mapping[str, Any]) -> ModelCost:
    """Return the cost of a registered model with a specification."""
    keys = read_specification(OwnKeys, name, training_keys(given))
    stated = {key_of(each, OwnKeys.__struct_fields__) for each in training_keys(given)}
    figures = _checked(name, _called(name, function, dict(given)))
    by_gradient = bool(figures.get("trained_by_gradient", "batch_size" in stated))
    if by_gradient and not keys.n:
        raise InputError(
            f"model {name}: the specification lacks n, the number of samples by which its train_flops are divided"
        )
    per_sample = float(figures["train_flops"]) / (max(1, keys.n) * keys.epochs)
    if by_gradient:
        return _in_steps(name, figures, per_sample, keys, keys.batch_size if "batch_size" in stated else 0)
    return _as_fit(name, figures, per_sample, keys)


def training_keys(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys that describe the training; the iterations of an own algorithm are not epochs."""
    names = OwnKeys.__struct_fields__
    found = {name: key_of(name, names) for name in given}
    return {name: given[name] for name, key in found.items() if key and (key != "epochs" or "epoch" in name.casefold())}


def _called(name: str, function: ModelFunction, given: dict[str, Any]) -> Figures:
    """Call a user's function. Its failure becomes an error with the place in the user's file."""
    try:
        figures = function(given)
    except KeyError as error:
        raise InputError(
            f"model {name}: its function reads the key {error.args[0]!r}, which the specification lacks"
        ) from None
    except Exception as error:  # noqa: BLE001  anything may fail in a user's function
        import traceback  # noqa: PLC0415  rarely needed

        place = traceback.extract_tb(error.__traceback__)[-1]
        raise InputError(
            f"model {name}: its function failed at {place.filename}:{place.lineno}: {type(error).__name__}: {error}"
        ) from None
    if not isinstance(figures, Mapping):
        raise InputError(
            f"model {name}: its function returned {type(figures).__name__}; expected a dictionary with "
            f"{', '.join(_required())}"
        )
    return figures


def _required() -> tuple[str, ...]:
    return tuple(key for key, figure in FIGURES.items() if figure.required)


def _checked(name: str, figures: Figures) -> dict[str, Any]:
    """Return the figures; the first wrong one is an error that names it."""
    for key in figures:
        if key not in FIGURES:
            near = nearest(str(key), FIGURES)
            hint = f"did you mean {near!r}?" if near else f"known are {', '.join(FIGURES)}"
            raise InputError(f"model {name}: its function returned an unknown key {key!r}; {hint}")
    for key in _required():
        if figures.get(key) is None:
            raise InputError(f"model {name}: its function returned no {key!r}; expected {FIGURES[key].expected}")
    return {key: _figure(name, key, value) for key, value in figures.items() if value is not None}


def _figure(name: str, key: str, value: object) -> object:
    wanted = FIGURES[key]
    number = value.item() if hasattr(value, "item") else value  # numpy's scalars
    fits = isinstance(number, wanted.kind) and (wanted.kind is bool or not isinstance(number, bool))
    if fits and isinstance(number, int | float) and wanted.kind is not bool:
        fits = isfinite(number) and wanted.least <= number <= wanted.most
    if not fits:
        raise InputError(f"model {name}: {key!r}: expected {wanted.expected}, not {value!r}")
    return number


def _in_steps(name: str, figures: dict[str, Any], per_sample: float, keys: OwnKeys, batch: int) -> ModelCost:
    """Return a model that is trained in gradient steps: one matrix product that uses each weight equally often."""
    parameters = round(figures["params"])
    forward = FORWARD_SHARE * per_sample
    side = _side(forward, parameters)
    rows = forward / (2 * side * side)
    kept = figures.get("activations_per_sample", rows * side)
    product = Operator("product", OperatorKind.MATMUL, forward, 2.0 * 2 * rows * side, rows, side, side)
    return ModelCost(
        model=name,
        family="registered model",
        implementation=figures.get("algorithm", ""),
        parameters=parameters,
        samples=keys.n,
        passes=keys.epochs,
        blocks=(ModelBlock(name, 1, parameters, (product,), kept_elements=kept, boundary_elements=rows * side),),
        assumptions=(
            f"time and memory of {name} follow from the figures of its function, as one matrix product per sample",
            *(() if "activations_per_sample" in figures else (f"stored activations: {kept:,.0f} numbers per sample",)),
        ),
        batch=batch,
        precision=keys.precision,
        **_prediction(figures),
    )


def _as_fit(name: str, figures: dict[str, Any], per_sample: float, keys: OwnKeys) -> ModelCost:
    """Return a model that is fitted as a whole."""
    parameters = round(figures["params"])
    side = _side(per_sample, parameters)
    precision = keys.precision if keys.precision in MATRIX_FORMATS else "fp32"
    moved = 2.0 * NUMBER_BYTES[precision] * side
    product = Operator("product", OperatorKind.MATMUL, per_sample, moved, 1, side, side, backward=0.0)
    return ModelCost(
        model=name,
        family=FAMILY,
        implementation=figures.get("algorithm", ""),
        parameters=parameters,
        samples=max(1, keys.n),
        passes=keys.epochs,
        blocks=(ModelBlock(name, 1, parameters, (product,), kept_elements=0.0),),
        working_bytes=float(figures.get("memory_bytes", 0.0)),
        trained_by_gradient=False,
        assumptions=(
            f"the time of {name} follows from the figures of its function, as matrix products",
            *(() if "memory_bytes" in figures else (f"memory of {name}: its parameters only, without data",)),
        ),
        batch=max(1, keys.n),
        precision=precision,
        **_prediction(figures),
    )


def _side(flops: float, parameters: int) -> float:
    """Return the side of a square product with these FLOPs of a sample, which uses each parameter at least once."""
    return max(1.0, sqrt(min(flops / 2, parameters) if parameters else flops / 2))


def _prediction(figures: dict[str, Any]) -> dict[str, Any]:
    """Return what is stated about predictions and complexity."""
    flops = figures.get("infer_flops_per_sample")
    found: dict[str, Any] = {}
    if flops:
        found["inference"] = (Operator("prediction", OperatorKind.MATMUL, float(flops), 0.0),)
    if "complexity_class" in figures:
        found["complexity"] = Complexity(figures["complexity_class"], "", "")
    return found
