"""Model specifications: typed keys with bounds, defaults and meaning. Errors name the key."""

import types
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from flyball_planner.models.spellings import expanded, fault_of_shape, meant, spellings_of, value_of
from flyball_reports.errors import InputError, nearest
from flyball_reports.specification.source_value import shortened
from flyball_reports.specification.value_readers import limit_text

LARGEST = 1e15
"""Larger dimensions and counts are mistakes, and products of them overflow."""


class ModelSpecification(msgspec.Struct, frozen=True, kw_only=True):
    """Base class of models' keys; subclasses declare them as annotated fields."""

    spellings: ClassVar[Mapping[str, str]] = {}
    """Alternative names of keys, as used by other tools."""


class ModelKey(Struct, frozen=True):
    """A description of one key for users."""

    name: str
    kind: str  # integer, number, text, true or false, list of …
    required: bool
    default: object  # None if required
    low: float | None
    high: float | None
    choices: tuple[str, ...]
    meaning: str
    low_excluded: bool = False  # the value must be above its lower bound

    @property
    def expected(self) -> str:
        """Return the valid values in words."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        if self.kind == NAMES[bool]:
            return self.kind
        article = "an" if self.kind[0] in "aeiou" else "a"
        low = (
            ""
            if self.low is None
            else f" above {limit_text(self.low)}"
            if self.low_excluded
            else f" of at least {limit_text(self.low)}"
        )
        high = "" if self.high is None else f"{' and' if low else ' of'} at most {limit_text(self.high)}"
        return f"{article} {self.kind}{low}{high}"


class UnfitKey(InputError):
    """A key that is unknown, missing or has an invalid value."""

    def __init__(
        self, model: str, key: str, problem: str, *, expected: str = "", suggestion: str | None = None
    ) -> None:
        self.model = model
        self.key = key
        self.expected = expected
        self.nearest = suggestion
        also = f"; expected {expected}" if expected and expected not in problem else ""
        hint = f"; did you mean {suggestion!r}?" if suggestion else also
        super().__init__(f"model {model}, key {key!r}: {problem}{hint}")


AnySpecification = TypeVar("AnySpecification", bound=ModelSpecification)

Count = Annotated[int, msgspec.Meta(ge=1)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
PrecisionName = Literal[
    "fp32", "tf32", "fp16", "bf16", "fp16-autocast", "bf16-autocast", "bf16-pure", "fp8", "int8", "fp4"
]


class NetworkSpecification(ModelSpecification, frozen=True, kw_only=True):
    """Keys of all models that are trained in gradient steps."""

    n: Annotated[int, msgspec.Meta(ge=0, description="samples in the data set; 0: plan a single step")] = 0
    batch_size: Annotated[Count, msgspec.Meta(description="samples per optimizer step over all devices")] = 32
    epochs: Annotated[float, msgspec.Meta(gt=0, description="passes over the data set")] = 1.0
    precision: Annotated[PrecisionName, msgspec.Meta(description="number formats of arithmetic and storage")] = "bf16"


@cache
def keys_of(kind: type[ModelSpecification]) -> tuple[ModelKey, ...]:
    """Return all keys of a specification in order."""
    annotations = get_type_hints(kind, include_extras=True)
    return tuple(_key(field, annotations[field.name]) for field in msgspec.structs.fields(kind))


def read_specification(kind: type[AnySpecification], model: str, given: Mapping[str, object]) -> AnySpecification:
    """Return the typed specification; raises `UnfitKey` with the expected values and a suggestion."""
    keys = {key.name: key for key in keys_of(kind)}
    annotations = get_type_hints(kind, include_extras=True)
    values: dict[str, Any] = {}
    written: dict[str, str] = {}
    for name, value in expanded(given, keys).items():
        found = meant(name, value, keys, kind.spellings)
        if found is None:
            if shape := fault_of_shape(name, given, keys):
                raise UnfitKey(model, name, shape)
            raise _unknown(model, name, keys, spellings_of(keys, kind.spellings))
        asked = value_of(found, value)
        if asked is None:
            continue  # a key without a value counts as missing
        read = _value(model, keys[found], annotations[found], asked, name)
        if found in values and values[found] != read:
            raise UnfitKey(model, name, f"contradicts {written[found]}, another name for it; keep one of them")
        values[found], written[found] = read, name
    for key in keys.values():
        if key.required and key.name not in values:
            raise UnfitKey(model, key.name, f"is missing ({key.meaning})", expected=key.expected)
    return kind(**values)


def _unknown(model: str, name: str, keys: Iterable[str], others: Iterable[str]) -> UnfitKey:
    known = sorted(keys)
    near = nearest(name, (*known, *others))
    return UnfitKey(model, name, "unknown key", expected="one of " + ", ".join(known), suggestion=near)


def _value(model: str, key: ModelKey, annotation: Any, value: object, name: str) -> Any:
    try:
        number = _number(key, value)
        if isinstance(number, int | float) and not abs(number) <= LARGEST:  # NaN too
            raise UnfitKey(model, name, f"is not a number up to {LARGEST:g}", expected=key.expected)
        return msgspec.convert(number, type=annotation)
    except msgspec.ValidationError:
        suggestion = nearest(value, key.choices) if isinstance(value, str) else None
        problem = f"expected {key.expected}, not {shortened(value) if isinstance(value, str) else value!r}"
        raise UnfitKey(model, name, problem, expected=key.expected, suggestion=suggestion) from None


def _number(key: ModelKey, value: object) -> object:
    """Convert numbers that YAML 1.1 reads as text (`1e6`), integers that are written with a point, choices in capital
    letters, and a single value in place of a list."""
    if isinstance(value, str) and key.choices:
        return next((each for each in key.choices if each.casefold() == value.casefold()), value)
    if isinstance(value, list | tuple) and key.kind.endswith("list of integers"):
        return [_integer(each) for each in value]
    if key.kind.startswith("list of") and isinstance(value, int | str):
        return [_integer(value) if key.kind == "list of integers" else value]
    if key.kind == "integer or list of integers":
        return _integer(value)
    if key.kind not in {"integer", "number"} or isinstance(value, bool):
        return value
    if isinstance(value, str):
        try:
            value = float(value.replace("_", ""))
        except ValueError:
            return value
    integral = isinstance(value, float) and value.is_integer()
    return int(value) if integral and key.kind == "integer" else value  # type: ignore[call-overload]


def _integer(value: object) -> object:
    """Convert an integer that is written as 1e3 or 512.0; any other value is returned unchanged."""
    if isinstance(value, bool) or not isinstance(value, str | float):
        return value
    try:
        number = float(value.replace("_", "") if isinstance(value, str) else value)
    except ValueError:
        return value
    return int(number) if number.is_integer() and abs(number) <= LARGEST else value


def _key(field: msgspec.structs.FieldInfo, annotation: Any) -> ModelKey:
    metas = _metas(annotation)
    above = next((meta.gt for meta in metas if meta.gt is not None), None)
    kind, choices = _kind(_bare(annotation))
    return ModelKey(
        name=field.name,
        kind=kind,
        required=field.required,
        default=None if field.required else field.default,
        low=above if above is not None else next((meta.ge for meta in metas if meta.ge is not None), None),
        high=next((meta.le for meta in metas if meta.le is not None), None),
        choices=choices,
        meaning=next((meta.description for meta in reversed(metas) if meta.description), ""),
        low_excluded=above is not None,
    )


def _metas(annotation: Any) -> list[msgspec.Meta]:
    return [meta for meta in getattr(annotation, "__metadata__", ()) if isinstance(meta, msgspec.Meta)]


def _bare(annotation: Any) -> Any:
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


NAMES: dict[Any, str] = {int: "integer", float: "number", str: "text", bool: "true or false", dict: "mapping"}


def _kind(bare: Any) -> tuple[str, tuple[str, ...]]:
    if get_origin(bare) is Literal:
        return "choice", tuple(str(choice) for choice in get_args(bare))
    if get_origin(bare) in {tuple, list}:
        return f"list of {_kind(_bare(get_args(bare)[0]))[0]}s", ()
    if get_origin(bare) in {Union, types.UnionType}:
        return " or ".join(_kind(_bare(each))[0] for each in get_args(bare)), ()
    return NAMES[get_origin(bare) or bare], ()
