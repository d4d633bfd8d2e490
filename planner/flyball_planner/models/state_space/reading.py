"""Hugging Face configurations of state-space models: Mamba, Mamba-2, Falcon Mamba, Jamba and Bamba."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from flyball_planner.models.state_space.cost import Layers, StateSpaceShape
from flyball_planner.models.state_space.mixer import Mixer
from flyball_planner.models.transformer.huggingface.settings import Settings
from flyball_planner.models.transformer.shape import Experts, NormKind, TransformerKind, TransformerShape

Values = Mapping[str, object]

HYBRID_NAMES: Mapping[str, str] = {
    "mamba_expand": "expand", "mamba_d_state": "state_size", "mamba_d_conv": "conv_kernel",
    "mamba_dt_rank": "time_step_rank", "mamba_n_heads": "num_heads", "mamba_n_groups": "n_groups",
    "mamba_chunk_size": "chunk_size", "mamba_proj_bias": "use_bias", "mamba_conv_bias": "use_conv_bias",
}  # fmt: skip
"""Jamba's and Bamba's names of the settings that Mamba and Mamba-2 have too."""


class StateSpaceFamily(Struct, frozen=True):
    """The configurations of one model type."""

    shape: Callable[[Settings, Mixer], StateSpaceShape]
    defaults: Values  # of transformers 5.24, under Mamba's names
    heads: bool = False  # as in Mamba-2, in place of a ranked time step
    step_norms: bool = False
    names: Mapping[str, str] = field(default_factory=dict)  # the family's names for Mamba's


def state_space_shape(config: Values) -> StateSpaceShape:
    """Return the shape of a configuration; missing settings are the family's defaults."""
    family = _FAMILIES[str(config["model_type"])]
    settings = Settings(config, family.defaults, family.names)
    return family.shape(settings, _mixer(settings, family))


def _mixer(settings: Settings, family: StateSpaceFamily) -> Mixer:
    hidden = settings.count("hidden_size")
    return Mixer(
        hidden=hidden,
        inner=settings.count("expand") * hidden,
        state=settings.count("state_size"),
        kernel=settings.count("conv_kernel"),
        rank=0 if family.heads else _rank(settings, hidden),
        heads=settings.count("num_heads") if family.heads else 0,
        groups=settings.count("n_groups") if family.heads else 1,
        chunk=settings.count("chunk_size") if family.heads else 1,
        bias=settings.flag("use_bias"),
        kernel_bias=settings.flag("use_conv_bias", True),
        step_norms=family.step_norms,
    )


def _rank(settings: Settings, hidden: int) -> int:
    automatic = settings.text("time_step_rank", "auto") == "auto"
    return math.ceil(hidden / 16) if automatic else settings.count("time_step_rank")


def _alone(settings: Settings, mixer: Mixer) -> StateSpaceShape:
    """Return a model of state-space layers only, each with a norm before it."""
    around = TransformerShape(
        kind=TransformerKind.DECODER, layers=1, hidden=mixer.hidden, heads=1, ffn=1, vocab=settings.count("vocab_size"),
        kv_heads=1, head_dim=mixer.hidden, tied=settings.flag("tie_word_embeddings"), norm=NormKind.RMS,
        norm_bias=False, dropout=False,
    )  # fmt: skip
    return StateSpaceShape(_name(settings), mixer, around, (Layers(settings.count("num_hidden_layers")),))


def _jamba(settings: Settings, mixer: Mixer) -> StateSpaceShape:
    """Return a model in which attention and experts come in periods of layers."""
    around = _attending(settings)
    experts = settings.count("num_experts")
    if experts > 1:
        around = replace(around, experts=Experts(experts, settings.count("num_experts_per_tok"), around.ffn))
    attending = settings.count("attn_layer_period"), settings.integer("attn_layer_offset")
    expert = settings.count("expert_layer_period"), settings.integer("expert_layer_offset")
    kinds = (
        (at % attending[0] == attending[1], experts > 1 and at % expert[0] == expert[1])
        for at in range(settings.count("num_hidden_layers"))
    )
    return StateSpaceShape(_name(settings), mixer, around, _counted(kinds))


def _bamba(settings: Settings, mixer: Mixer) -> StateSpaceShape:
    """Return a model that lists its attention layers."""
    attending = settings.size("attn_layer_indices")
    kinds = ((at < attending, False) for at in range(settings.count("num_hidden_layers")))
    return StateSpaceShape(_name(settings), mixer, _attending(settings), _counted(kinds))


def _attending(settings: Settings) -> TransformerShape:
    """Return the dimensions of a hybrid's attention and feed-forward blocks, which are like Llama's."""
    heads, hidden = settings.count("num_attention_heads"), settings.count("hidden_size")
    biased = settings.flag("attention_bias")
    return TransformerShape(
        kind=TransformerKind.DECODER, layers=1, hidden=hidden, heads=heads, ffn=settings.count("intermediate_size"),
        vocab=settings.count("vocab_size"), kv_heads=settings.count("num_key_value_heads", heads),
        head_dim=settings.count("head_dim", hidden // heads), gated=True, tied=settings.flag("tie_word_embeddings"),
        norm=NormKind.RMS, norm_bias=False, qkv_bias=biased, attention_output_bias=biased,
        ffn_bias=settings.flag("mlp_bias"), dropout=False,
    )  # fmt: skip


def _counted(kinds: Iterable[tuple[bool, bool]]) -> tuple[Layers, ...]:
    """Return equal layers together, given for each layer whether it attends and whether it has experts."""
    counts = Counter(kinds)
    return tuple(
        Layers(repeats, attention=attends, feed_forward=True, experts=experts)
        for (attends, experts), repeats in sorted(counts.items())
    )


def _name(settings: Settings) -> str:
    return settings.text("_name_or_path") or settings.model_type


MAMBA_130M = {
    "vocab_size": 50280, "hidden_size": 768, "state_size": 16, "num_hidden_layers": 32, "expand": 2, "conv_kernel": 4,
    "tie_word_embeddings": True,
}  # fmt: skip
MAMBA2_7B = {
    "vocab_size": 32768, "hidden_size": 4096, "state_size": 128, "num_hidden_layers": 64, "expand": 2, "conv_kernel": 4,
    "num_heads": 128, "n_groups": 8, "chunk_size": 256, "tie_word_embeddings": False,
}  # fmt: skip
JAMBA = {
    "vocab_size": 65536, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "num_experts": 16, "num_experts_per_tok": 2,
    "expert_layer_period": 2, "expert_layer_offset": 1, "attn_layer_period": 8, "attn_layer_offset": 4,
    "state_size": 16, "conv_kernel": 4, "expand": 2, "tie_word_embeddings": False,
}  # fmt: skip
BAMBA = {
    "vocab_size": 128000, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "num_heads": 128, "n_groups": 1,
    "state_size": 256, "conv_kernel": 4, "expand": 2, "chunk_size": 256, "tie_word_embeddings": False,
}  # fmt: skip

_FAMILIES: Mapping[str, StateSpaceFamily] = {
    "mamba": StateSpaceFamily(_alone, MAMBA_130M),
    "falcon_mamba": StateSpaceFamily(_alone, MAMBA_130M),
    "mamba2": StateSpaceFamily(_alone, MAMBA2_7B, heads=True),
    "jamba": StateSpaceFamily(_jamba, JAMBA, step_norms=True, names=HYBRID_NAMES),
    "bamba": StateSpaceFamily(_bamba, BAMBA, heads=True, names=HYBRID_NAMES),
}
