"""Number formats: how wide they are, and which arithmetic a training uses."""

from enum import StrEnum

from msgspec import Struct


class Format(StrEnum):
    """A format of numbers in memory or in a matrix unit."""

    FP32 = "fp32"
    TF32 = "tf32"
    FP16 = "fp16"
    BF16 = "bf16"
    FP8 = "fp8"
    INT8 = "int8"
    FP4 = "fp4"


WIDTHS_BYTES: dict[Format, float] = {
    Format.FP32: 4.0,
    Format.TF32: 4.0,  # kept as fp32; only the matrix unit rounds
    Format.FP16: 2.0,
    Format.BF16: 2.0,
    Format.FP8: 1.0,
    Format.INT8: 1.0,
    Format.FP4: 0.5,
}


class Precision(Struct, frozen=True):
    """What a training multiplies in and what it keeps; `master` copies in fp32 exist under mixed precision only."""

    name: str
    compute: Format  # of matrix products
    activations: Format
    weights: Format  # as the forward pass reads them
    gradients: Format
    master: bool  # fp32 copies of the weights, that the optimizer updates
    autocast: bool = False  # weights stay fp32 and are cast where they are used


PRECISIONS: dict[str, Precision] = {
    precision.name: precision
    for precision in (
        Precision("fp32", Format.FP32, Format.FP32, Format.FP32, Format.FP32, master=False),
        Precision("tf32", Format.TF32, Format.FP32, Format.FP32, Format.FP32, master=False),
        Precision("fp16", Format.FP16, Format.FP16, Format.FP16, Format.FP16, master=True),
        Precision("bf16", Format.BF16, Format.BF16, Format.BF16, Format.BF16, master=True),
        Precision("fp16-autocast", Format.FP16, Format.FP16, Format.FP32, Format.FP32, master=False, autocast=True),
        Precision("bf16-autocast", Format.BF16, Format.BF16, Format.FP32, Format.FP32, master=False, autocast=True),
        Precision("bf16-pure", Format.BF16, Format.BF16, Format.BF16, Format.BF16, master=False),
        Precision("fp8", Format.FP8, Format.BF16, Format.BF16, Format.BF16, master=True),
        Precision("int8", Format.INT8, Format.BF16, Format.INT8, Format.BF16, master=False),
        Precision("fp4", Format.FP4, Format.BF16, Format.BF16, Format.BF16, master=True),
    )
}
"""By name. `fp16` and `bf16` are mixed precision as Megatron and DeepSpeed keep it; `…-autocast` is torch.autocast over
fp32 weights; `bf16-pure` keeps weights, gradients and moments in bf16."""
