"""Parameters of low-rank additions, by the matrices that they apply to."""

from collections.abc import Iterable, Mapping

from flyball_planner.models.transformer.layers import LayerGroup, layer_groups
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.training import Lora
from flyball_reports.errors import UnknownName

ATTENTION = ("q", "k", "v", "o")
FEED_FORWARD = ("gate", "up", "down")
TARGETS = (*ATTENTION, *FEED_FORWARD)

OTHER_NAMES: Mapping[str, str] = {
    "query": "q", "key": "k", "value": "v", "projection": "o", "output": "o",
    "q_proj": "q", "k_proj": "k", "v_proj": "v", "o_proj": "o", "output_proj": "o",
    "gate_proj": "gate", "up_proj": "up", "down_proj": "down", "w1": "gate", "w3": "up", "w2": "down",
}  # fmt: skip
"""Names in PEFT, torchtune and LitGPT."""

PRESETS: Mapping[str, Lora] = {
    "peft": Lora(8, ("q", "v")),  # LoraConfig.r; q and v of Llama by default (peft/utils/constants.py)
    "litgpt": Lora(8, ("q", "v")),  # litgpt/finetune/lora.py: lora_r=8, lora_query and lora_value
    "torchtune": Lora(8, ("q", "v", "o", *FEED_FORWARD)),  # recipes/configs/llama3_1/8B_lora_single_device.yaml
    "qlora": Lora(64, TARGETS),  # all products of a layer (Dettmers et al. 2023, §4)
}


def lora_parameters(shape: TransformerShape, lora: Lora) -> int:
    """Return the trained parameters of all layers: rank × (input + output width) of each target."""
    targets = lora_targets(lora.targets)
    return sum(group.repeats * _in_a_layer(shape, group, lora.rank, targets) for group in layer_groups(shape))


def lora_targets(names: Iterable[str]) -> tuple[str, ...]:
    """Return targets by their short names; "all" means all products of a layer."""
    found: list[str] = []
    for name in names:
        if name in {"all", "all-linear"}:
            found += TARGETS
            continue
        short = OTHER_NAMES.get(name, name)
        if short not in TARGETS:
            raise UnknownName("LoRA target", name, (*TARGETS, *OTHER_NAMES, "all"))
        found.append(short)
    return tuple(dict.fromkeys(found))


def product_widths(shape: TransformerShape, group: LayerGroup) -> Mapping[str, tuple[int, int, int]]:
    """Return the input and output width of each product of a layer, and its number."""
    sides = 2 if group.cross else 1
    return {**_attention(shape, sides), **_feed_forward(shape, group)}


def _in_a_layer(shape: TransformerShape, group: LayerGroup, rank: int, targets: tuple[str, ...]) -> int:
    known = product_widths(shape, group)
    return sum(
        rank * (entering + leaving) * times for name, (entering, leaving, times) in known.items() if name in targets
    )


def _attention(shape: TransformerShape, sides: int) -> dict[str, tuple[int, int, int]]:
    queries, keys = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    if shape.latent is None:
        plain = {
            "q": (shape.hidden, queries),
            "k": (shape.hidden, keys),
            "v": (shape.hidden, keys),
            "o": (queries, shape.hidden),
        }
        return {name: (*widths, sides) for name, widths in plain.items()}
    latent = shape.latent
    values = shape.heads * latent.value_dim
    return {
        "q": (latent.query_rank or shape.hidden, queries, sides),
        "k": (shape.hidden, latent.key_value_rank + latent.rotary_dim, sides),  # kv_a_proj
        "v": (latent.key_value_rank, shape.heads * latent.plain_dim + values, sides),  # kv_b_proj
        "o": (values, shape.hidden, sides),
    }


def _feed_forward(shape: TransformerShape, group: LayerGroup) -> dict[str, tuple[int, int, int]]:
    names = FEED_FORWARD if shape.gated else ("up", "down")
    width, times = shape.ffn, 1
    if shape.experts and group.experts:
        width, times = shape.experts.ffn, shape.experts.count
    return {name: (width, shape.hidden, times) if name == "down" else (shape.hidden, width, times) for name in names}
