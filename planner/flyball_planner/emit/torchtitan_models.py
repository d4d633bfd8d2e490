"""Models that torchtitan 0.2.2 has, by their dimensions."""

from msgspec import Struct

from flyball_planner.models.transformer.shape import TransformerShape


class TitanFlavor(Struct, frozen=True):
    """A model of torchtitan: its name and flavor, and the dimensions that identify it."""

    name: str
    flavor: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    vocab: int


FLAVORS = (
    TitanFlavor("llama3", "8B", 32, 4096, 32, 8, 128_256),
    TitanFlavor("llama3", "70B", 80, 8192, 64, 8, 128_256),
    TitanFlavor("llama3", "405B", 126, 16_384, 128, 8, 128_256),
    TitanFlavor("qwen3", "0.6B", 28, 1024, 16, 8, 151_936),
    TitanFlavor("qwen3", "1.7B", 28, 2048, 16, 8, 151_936),
    TitanFlavor("qwen3", "4B", 36, 2560, 32, 8, 151_936),
    TitanFlavor("qwen3", "8B", 36, 4096, 32, 8, 151_936),
    TitanFlavor("qwen3", "14B", 40, 5120, 40, 8, 151_936),
    TitanFlavor("qwen3", "32B", 64, 5120, 64, 8, 151_936),
)


def flavor_of(shape: TransformerShape | None) -> tuple[str, str] | None:
    """Return name and flavor of a transformer; None if torchtitan does not have it."""
    if shape is None or shape.experts is not None:
        return None
    for each in FLAVORS:
        found = (each.layers, each.hidden, each.heads, each.kv_heads, each.vocab)
        if found == (shape.layers, shape.hidden, shape.heads, shape.kv_heads, shape.vocab):
            return each.name, each.flavor
    return None
