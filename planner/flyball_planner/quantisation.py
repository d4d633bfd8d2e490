"""Frozen weights in few bits: how many bytes each takes, and what the library's products keep."""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace


class Quantisation(Struct, frozen=True):
    """A format of the frozen weights of a training over added weights."""

    name: str
    weight_bytes: float  # with its share of the scales
    output: bool = False  # the output projection too; Hugging Face leaves it in 16 bits
    wide_rest: bool = False  # everything else is in fp32, as after PEFT's prepare_model_for_kbit_training
    kept_inputs: int = 0
    """How often the inputs of quantised products are held. bitsandbytes kept them until its pull request 1270 (0.43.2,
    July 2024), although nothing needs them; a loop that holds the loss of the last step keeps them twice."""


SCALE_BITS = 32 / 64  # an fp32 scale for each block of 64 weights (bitsandbytes' default)
DOUBLE_SCALE_BITS = 0.127  # 8-bit scales with an fp32 scale for each 256 (Dettmers et al. 2023, §3)

QUANTISATIONS: Mapping[str, Quantisation] = {
    each.name: each
    for each in (
        Quantisation("nf4", (4 + DOUBLE_SCALE_BITS) / 8),
        Quantisation("nf4-plain", (4 + SCALE_BITS) / 8),
        Quantisation("fp4", (4 + DOUBLE_SCALE_BITS) / 8),
        Quantisation("fp4-plain", (4 + SCALE_BITS) / 8),
        Quantisation("int8", 1.0),  # LLM.int8: a scale for each row, which is negligible
    )
}
"""By name. `nf4` and `fp4` have doubly quantised scales, as in QLoRA; `…-plain` have fp32 scales."""

NF4 = QUANTISATIONS["nf4"]


def quantisation(name: str, *, output: bool = False, wide_rest: bool = False, kept_inputs: int = 0) -> Quantisation:
    """Return a format by name."""
    return replace(QUANTISATIONS[name], output=output, wide_rest=wide_rest, kept_inputs=kept_inputs)
