"""What a GPU's architecture can compute with, by compute capability.

Sources: NVIDIA CUDA C++ Programming Guide, "Compute Capabilities" (arithmetic and tensor-core types), and the
architecture white papers of Volta (fp16 tensor cores), Turing (int8, int4), Ampere (bf16, tf32), Ada and Hopper (fp8)
and Blackwell (fp4). Listed is what tensor cores do, and before them what native instructions do.
"""

from dataclasses import dataclass

Capability = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Architecture:
    """One generation."""

    name: str
    precisions: tuple[str, ...]


_GENERATIONS: tuple[tuple[Capability, Architecture], ...] = (  # newest first: the first that is not newer holds
    ((10, 0), Architecture("blackwell", ("fp32", "tf32", "fp16", "bf16", "fp8", "fp4", "int8"))),
    ((9, 0), Architecture("hopper", ("fp32", "tf32", "fp16", "bf16", "fp8", "int8"))),
    ((8, 9), Architecture("ada", ("fp32", "tf32", "fp16", "bf16", "fp8", "int8"))),
    ((8, 0), Architecture("ampere", ("fp32", "tf32", "fp16", "bf16", "int8"))),
    ((7, 5), Architecture("turing", ("fp32", "fp16", "int8"))),
    ((7, 0), Architecture("volta", ("fp32", "fp16"))),
    ((6, 1), Architecture("pascal", ("fp32", "int8"))),
    ((6, 0), Architecture("pascal", ("fp32", "fp16"))),
    ((5, 0), Architecture("maxwell", ("fp32",))),
    ((3, 0), Architecture("kepler", ("fp32",))),
)
_UNKNOWN = Architecture("", ())


def architecture(capability: Capability) -> Architecture:
    """The generation of a compute capability; a later one than this table knows counts as its newest."""
    return next((found for least, found in _GENERATIONS if capability >= least), _UNKNOWN)
