"""Layers from a user's list: words, or mappings whose first key is the layer."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import msgspec

from flyball_planner.models.convolution.composites import Chain, Residual, SqueezeExcite
from flyball_planner.models.convolution.layers import (
    RELU,
    SMOOTH,
    Convolution,
    Flatten,
    Layer,
    Linear,
    NormLayer,
    Pool,
    PoolTo,
)
from flyball_planner.models.specification import UnfitKey
from flyball_reports.errors import nearest

Size = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Margin = Annotated[int, msgspec.Meta(ge=0, le=1_000)]
DEEPEST = 20  # nested residual bodies

WORDS: dict[str, Layer] = {
    "norm": NormLayer(), "batch_norm": NormLayer(), "layer_norm": NormLayer(), "relu": RELU, "gelu": SMOOTH,
    "silu": SMOOTH, "hardswish": SMOOTH, "tanh": SMOOTH, "sigmoid": SMOOTH,
    "global_pool": PoolTo(), "flatten": Flatten(),
}  # fmt: skip


class _Conv(msgspec.Struct, forbid_unknown_fields=True):
    conv: Size
    kernel: Size = 3
    stride: Size = 1
    padding: Margin | None = None
    groups: Size = 1
    bias: bool = True


class _Pool(msgspec.Struct, forbid_unknown_fields=True):
    pool: Size
    stride: Size | None = None
    padding: Margin = 0


class _Linear(msgspec.Struct, forbid_unknown_fields=True):
    linear: Size
    bias: bool = True


class _PoolTo(msgspec.Struct, forbid_unknown_fields=True):
    pool_to: Size


class _SqueezeExcite(msgspec.Struct, forbid_unknown_fields=True):
    squeeze_excite: Size


class _Residual(msgspec.Struct, forbid_unknown_fields=True):
    residual: list[Any]
    shortcut: list[Any] | None = None


def layers_of(described: Sequence[object], depth: int = 0) -> tuple[Layer, ...]:
    """Return the layers of a list; errors name the position of the layer, counted from 1."""
    if depth > DEEPEST:
        raise _unfit(1, "nested too deeply", f"at most {DEEPEST} nested residual layers")
    return tuple(_layer(position, each, depth) for position, each in enumerate(described, start=1))


def _layer(position: int, described: object, depth: int) -> Layer:
    if isinstance(described, str):
        if described not in WORDS:
            raise _unknown(position, described)
        return WORDS[described]
    if not isinstance(described, Mapping) or not described:
        raise _unfit(position, f"{described!r} is not a layer", "a word such as relu, or a mapping such as {conv: 64}")
    kind = next((name for name in described if name in KINDS), None)
    if kind is None:
        raise _unknown(position, str(next(iter(described))))
    struct, build = KINDS[kind]
    try:
        return build(msgspec.convert(dict(described), type=struct), depth)
    except msgspec.ValidationError as fault:
        expected = ", ".join(field.name for field in msgspec.structs.fields(struct))
        raise _unfit(position, str(fault), f"keys {expected}") from None


def _convolution(wanted: _Conv, _: int) -> Layer:
    return Convolution(wanted.conv, wanted.kernel, wanted.stride, wanted.padding, wanted.groups, wanted.bias)


def _residual(wanted: _Residual, depth: int) -> Layer:
    around = Chain(layers_of(wanted.shortcut, depth + 1)) if wanted.shortcut else None
    return Residual(Chain(layers_of(wanted.residual, depth + 1)), around)


KINDS: dict[str, tuple[type[msgspec.Struct], Callable[[Any, int], Layer]]] = {
    "conv": (_Conv, _convolution),
    "pool": (_Pool, lambda wanted, _: Pool(wanted.pool, wanted.stride or wanted.pool, wanted.padding)),
    "linear": (_Linear, lambda wanted, _: Linear(wanted.linear, wanted.bias)),
    "pool_to": (_PoolTo, lambda wanted, _: PoolTo(wanted.pool_to)),
    "squeeze_excite": (_SqueezeExcite, lambda wanted, _: SqueezeExcite(wanted.squeeze_excite)),
    "residual": (_Residual, _residual),
}


def _unknown(position: int, name: str) -> UnfitKey:
    known = [*KINDS, *WORDS]
    return UnfitKey(
        "cnn",
        "layers",
        f"layer {position}: unknown layer {name!r}",
        expected="one of " + ", ".join(known),
        suggestion=nearest(name, known),
    )


def _unfit(position: int, problem: str, expected: str) -> UnfitKey:
    return UnfitKey("cnn", "layers", f"layer {position}: {problem}", expected=expected)
