"""Number formats and precisions: how wide numbers are, and which arithmetic a training uses."""

from enum import StrEnum

from msgspec import Struct


class NumberFormat(StrEnum):
    """A number format in memory or in a matrix unit."""

    FP32 = "fp32"
    TF32 = "tf32"
    FP16 = "fp16"
    BF16 = "bf16"
    FP8 = "fp8"
    INT8 = "int8"
    FP4 = "fp4"


WIDTHS_BYTES: dict[NumberFormat, float] = {
    NumberFormat.FP32: 4.0,
    NumberFormat.TF32: 4.0,  # stored as fp32; only the matrix unit rounds
    NumberFormat.FP16: 2.0,
    NumberFormat.BF16: 2.0,
    NumberFormat.FP8: 1.0,
    NumberFormat.INT8: 1.0,
    NumberFormat.FP4: 0.5,
}


class Precision(Struct, frozen=True):
    """The formats of a training. Only mixed precision has `master` copies of the weights in fp32."""

    name: str
    compute: NumberFormat  # of matrix products
    activations: NumberFormat
    weights: NumberFormat  # as read by the forward pass
    gradients: NumberFormat
    master: bool  # fp32 copies of the weights, which the optimizer updates
    autocast: bool = False  # weights are in fp32 and cast when used


PRECISIONS: dict[str, Precision] = {
    precision.name: precision
    for precision in (
        Precision("fp32", NumberFormat.FP32, NumberFormat.FP32, NumberFormat.FP32, NumberFormat.FP32, master=False),
        Precision("tf32", NumberFormat.TF32, NumberFormat.FP32, NumberFormat.FP32, NumberFormat.FP32, master=False),
        Precision("fp16", NumberFormat.FP16, NumberFormat.FP16, NumberFormat.FP16, NumberFormat.FP16, master=True),
        Precision("bf16", NumberFormat.BF16, NumberFormat.BF16, NumberFormat.BF16, NumberFormat.BF16, master=True),
        Precision(
            "fp16-autocast",
            NumberFormat.FP16,
            NumberFormat.FP16,
            NumberFormat.FP32,
            NumberFormat.FP32,
            master=False,
            autocast=True,
        ),
        Precision(
            "bf16-autocast",
            NumberFormat.BF16,
            NumberFormat.BF16,
            NumberFormat.FP32,
            NumberFormat.FP32,
            master=False,
            autocast=True,
        ),
        Precision(
            "bf16-pure", NumberFormat.BF16, NumberFormat.BF16, NumberFormat.BF16, NumberFormat.BF16, master=False
        ),
        Precision("fp8", NumberFormat.FP8, NumberFormat.BF16, NumberFormat.BF16, NumberFormat.BF16, master=True),
        Precision("int8", NumberFormat.INT8, NumberFormat.BF16, NumberFormat.INT8, NumberFormat.BF16, master=False),
        Precision("fp4", NumberFormat.FP4, NumberFormat.BF16, NumberFormat.BF16, NumberFormat.BF16, master=True),
    )
}
"""Precisions by name. `fp16` and `bf16` are mixed precision as in Megatron and DeepSpeed. `…-autocast` is
torch.autocast over fp32 weights. `bf16-pure` has weights, gradients and moments in bf16."""
