"""GPT-J and CodeGen: parallel attention and feed-forward after one norm, an output with a bias."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import decoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import Head, NormKind, TransformerShape

NAMES = {
    "n_embd": "hidden_size",
    "n_layer": "num_hidden_layers",
    "n_head": "num_attention_heads",
    "n_inner": "intermediate_size",
}
DEFAULTS = {
    "vocab_size": 50400,
    "hidden_size": 4096,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "tie_word_embeddings": False,
}


def _gptj(settings: Settings) -> TransformerShape:
    shape = decoder(settings)
    return replace(
        shape,
        gated=False,
        norm=NormKind.LAYER,
        ffn_bias=True,
        output_bias=shape.output_bias or shape.head is Head.LANGUAGE_MODEL,
        norms_a_layer=1,
        parallel_block=True,
    )


GPTJ = ConfigFamily(("gptj",), _gptj, DEFAULTS, NAMES)
CODEGEN = ConfigFamily(("codegen",), _gptj, DEFAULTS, NAMES)
