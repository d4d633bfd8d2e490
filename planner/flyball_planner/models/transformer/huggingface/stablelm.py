"""StableLM from its second version on; the first is a GPT-NeoX."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.settings import Family, Settings
from flyball_planner.models.transformer.huggingface.usual import decoder
from flyball_planner.models.transformer.shape import Norm, TransformerShape


def _stablelm(settings: Settings) -> TransformerShape:
    shape = decoder(settings)
    beside = settings.flag("use_parallel_residual")
    each_head_normed = settings.flag("qk_layernorm")
    return replace(
        shape,
        norm=Norm.LAYER,
        qkv_bias=settings.flag("use_qkv_bias"),
        norms_a_layer=1 if beside else 2,
        parallel_block=beside,
        # a norm without bias for each single head
        other_layer_parameters=(shape.heads + shape.kv_heads) * shape.head_dim if each_head_normed else 0,
    )


STABLELM = Family(
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
