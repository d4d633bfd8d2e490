"""Llama, and families that only differ in defaults: Mistral, Granite, SmolLM3."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import decoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily

LLAMA_7B = {
    "vocab_size": 32000,
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "intermediate_size": 11008,
    "tie_word_embeddings": False,
}

LLAMA = ConfigFamily(("llama",), lambda settings: replace(decoder(settings), sliding_window=0), LLAMA_7B)
MISTRAL = ConfigFamily(
    ("mistral",), decoder, {**LLAMA_7B, "intermediate_size": 14336, "num_key_value_heads": 8, "sliding_window": 4096}
)
GRANITE = ConfigFamily(("granite",), decoder, LLAMA_7B)
SMOLLM3 = ConfigFamily(
    ("smollm3",),
    decoder,
    {
        "vocab_size": 128256,
        "hidden_size": 2048,
        "num_hidden_layers": 36,
        "num_attention_heads": 16,
        "num_key_value_heads": 4,
        "intermediate_size": 11008,
        "tie_word_embeddings": True,
    },
)
