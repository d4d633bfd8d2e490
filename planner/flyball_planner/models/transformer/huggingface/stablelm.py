"""StableLM from version 2 on; version 1 is a GPT-NeoX."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import decoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import NormKind, TransformerShape


def _stablelm(settings: Settings) -> TransformerShape:
    shape = decoder(settings)
    beside = settings.flag("use_parallel_residual")
    each_head_normed = settings.flag("qk_layernorm")
    return replace(
        shape,
        norm=NormKind.LAYER,
        qkv_bias=settings.flag("use_qkv_bias"),
        norms_a_layer=1 if beside else 2,
        parallel_block=beside,
        # A norm without bias for each head.
        other_layer_parameters=(shape.heads + shape.kv_heads) * shape.head_dim if each_head_normed else 0,
    )


STABLELM = ConfigFamily(
    ("stablelm",),
    _stablelm,
    {
        "vocab_size": 50304,
        "hidden_size": 2560,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 32,
        "intermediate_size": 6912,
        "tie_word_embeddings": False,
    },
)
