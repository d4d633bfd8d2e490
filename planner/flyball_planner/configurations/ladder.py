"""A ladder of transformer shapes from small to large: Llama-like decoders with a vocabulary of 32,000."""

from functools import cache

from flyball_planner.models.transformer.counts import parameters
from flyball_planner.models.transformer.shape import NormKind, TransformerKind, TransformerShape

VOCABULARY = 32_000  # Llama and Llama 2 (Touvron et al., 2023)
HEAD_WIDTH = 64
FFN_TIMES = 8 / 3  # three matrices have as many weights as two of 4 (Shazeer, 2020)
ROUNDED_TO = 64  # tile size of matrix units

STEPS = (
    (6, 384), (8, 448), (8, 512), (10, 576), (12, 640), (12, 704), (12, 768), (16, 768), (16, 832), (16, 896),
    (16, 1024), (20, 1024), (24, 1024), (24, 1152), (24, 1280), (24, 1408), (24, 1536), (24, 1792), (24, 2048),
    (28, 2304), (32, 2560), (32, 3072), (32, 3584), (32, 4096),
)  # fmt: skip
"""Layers and width, which grow together as in published families."""


@cache
def ladder() -> tuple[TransformerShape, ...]:
    """Return all shapes, smallest first."""
    return tuple(sorted((_shape(layers, hidden) for layers, hidden in STEPS), key=size))


def size(shape: TransformerShape) -> int:
    """Return the number of parameters."""
    return parameters(shape).total


def _shape(layers: int, hidden: int) -> TransformerShape:
    ffn = round(hidden * FFN_TIMES / ROUNDED_TO) * ROUNDED_TO
    return TransformerShape(
        kind=TransformerKind.DECODER, layers=layers, hidden=hidden, heads=hidden // HEAD_WIDTH,
        kv_heads=hidden // HEAD_WIDTH, head_dim=HEAD_WIDTH, ffn=ffn, vocab=VOCABULARY, gated=True, tied=True,
        norm=NormKind.RMS, norm_bias=False, qkv_bias=False, attention_output_bias=False, ffn_bias=False, dropout=False,
        name=f"decoder {layers}×{hidden}",
    )  # fmt: skip
