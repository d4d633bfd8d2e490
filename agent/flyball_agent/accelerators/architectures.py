"""The number formats that GPU architectures compute with, by compute capability.

Sources: NVIDIA CUDA C++ Programming Guide, "Compute Capabilities" (arithmetic and tensor-core types), and the
architecture white papers of Volta (fp16 tensor cores), Turing (int8, int4), Ampere (bf16, tf32), Ada and Hopper (fp8)
and Blackwell (fp4). Each list has the formats of tensor cores; for GPUs without them, those of native instructions.
"""

from dataclasses import dataclass

Capability = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Architecture:
    """One generation of GPUs."""

    name: str
    precisions: tuple[str, ...]


_GENERATIONS: tuple[tuple[Capability, Architecture], ...] = (  # newest first: the first match counts
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
    """Return the generation of a compute capability. One newer than the table counts as the newest in it."""
    return next((found for least, found in _GENERATIONS if capability >= least), _UNKNOWN)
