"""Hugging Face configurations of state-space models: Mamba, Mamba-2, Falcon Mamba, Jamba and Bamba."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from flyball_planner.models.state_space.cost import Layers, StateSpaceShape
from flyball_planner.models.state_space.mixer import Mixer
from flyball_planner.models.transformer.huggingface.settings import Settings
from flyball_planner.models.transformer.shape import Experts, NormKind, TransformerKind, TransformerShape

Values = Mapping[str, object]


def is_state_space(config: Values) -> bool:
    """Return True if a configuration has state-space layers that can be read."""
    return config.get("model_type") in _READERS


def state_space_shape(config: Values) -> StateSpaceShape:
    """Return the shape of a configuration; missing settings are the defaults of transformers 5.24."""
    model_type = str(config["model_type"])
    read, defaults = _READERS[model_type]
    return read(Settings(config, defaults))


def _mamba(settings: Settings) -> StateSpaceShape:
    hidden = settings.count("hidden_size")
    mixer = Mixer(
        hidden=hidden,
        inner=settings.count("expand") * hidden,
        state=settings.count("state_size"),
        kernel=settings.count("conv_kernel"),
        rank=_rank(settings, "time_step_rank", hidden),
        bias=settings.flag("use_bias"),
        kernel_bias=settings.flag("use_conv_bias", True),
    )
    return _alone(settings, mixer)


def _mamba2(settings: Settings) -> StateSpaceShape:
    hidden = settings.count("hidden_size")
    mixer = Mixer(
        hidden=hidden,
        inner=settings.count("expand") * hidden,
        state=settings.count("state_size"),
        kernel=settings.count("conv_kernel"),
        heads=settings.count("num_heads"),
        groups=settings.count("n_groups"),
        chunk=settings.count("chunk_size"),
        bias=settings.flag("use_bias"),
        kernel_bias=settings.flag("use_conv_bias", True),
    )
    return _alone(settings, mixer)


def _jamba(settings: Settings) -> StateSpaceShape:
    hidden = settings.count("hidden_size")
    mixer = Mixer(
        hidden=hidden,
        inner=settings.count("mamba_expand") * hidden,
        state=settings.count("mamba_d_state"),
        kernel=settings.count("mamba_d_conv"),
        rank=_rank(settings, "mamba_dt_rank", hidden),
        bias=settings.flag("mamba_proj_bias"),
        kernel_bias=settings.flag("mamba_conv_bias", True),
        step_norms=True,
    )
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


def _bamba(settings: Settings) -> StateSpaceShape:
    hidden = settings.count("hidden_size")
    mixer = Mixer(
        hidden=hidden,
        inner=settings.count("mamba_expand") * hidden,
        state=settings.count("mamba_d_state"),
        kernel=settings.count("mamba_d_conv"),
        heads=settings.count("mamba_n_heads"),
        groups=settings.count("mamba_n_groups"),
        chunk=settings.count("mamba_chunk_size"),
        bias=settings.flag("mamba_proj_bias"),
        kernel_bias=settings.flag("mamba_conv_bias", True),
    )
    attending = settings.size("attn_layer_indices")
    kinds = ((at < attending, False) for at in range(settings.count("num_hidden_layers")))
    return StateSpaceShape(_name(settings), mixer, _attending(settings), _counted(kinds))


def _rank(settings: Settings, name: str, hidden: int) -> int:
    return math.ceil(hidden / 16) if settings.text(name, "auto") == "auto" else settings.count(name)


def _alone(settings: Settings, mixer: Mixer) -> StateSpaceShape:
    """Return a model of state-space layers only, each with a norm before it."""
    around = TransformerShape(
        kind=TransformerKind.DECODER, layers=1, hidden=mixer.hidden, heads=1, ffn=1, vocab=settings.count("vocab_size"),
        kv_heads=1, head_dim=mixer.hidden, tied=settings.flag("tie_word_embeddings"), norm=NormKind.RMS,
        norm_bias=False, dropout=False,
    )  # fmt: skip
    return StateSpaceShape(_name(settings), mixer, around, (Layers(settings.count("num_hidden_layers")),))


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
    "mamba_d_state": 16, "mamba_d_conv": 4, "mamba_expand": 2, "tie_word_embeddings": False,
}  # fmt: skip
BAMBA = {
    "vocab_size": 128000, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "mamba_n_heads": 128, "mamba_n_groups": 1,
    "mamba_d_state": 256, "mamba_d_conv": 4, "mamba_expand": 2, "mamba_chunk_size": 256, "tie_word_embeddings": False,
}  # fmt: skip

_READERS: Mapping[str, tuple[Callable[[Settings], StateSpaceShape], Values]] = {
    "mamba": (_mamba, MAMBA_130M),
    "falcon_mamba": (_mamba, MAMBA_130M),
    "mamba2": (_mamba2, MAMBA2_7B),
    "jamba": (_jamba, JAMBA),
    "bamba": (_bamba, BAMBA),
}
