"""A model as `config.json` of Hugging Face transformers, for shapes that are those of Llama."""

from msgspec.structs import replace

from flyball_planner.models.transformer.shape import Head, NormKind, TransformerKind, TransformerShape

FILE = "config.json"
NORM_EPSILON = 1e-5  # of Llama 2 and 3
ROTARY_BASE = 10_000.0  # of Llama and Llama 2


def llama_config(shape: TransformerShape, sequence: int) -> dict[str, object] | None:
    """Return the configuration of a Llama with this shape; None if Llama's architecture differs from it."""
    if shape != _as_llama(shape):
        return None
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": shape.vocab,
        "hidden_size": shape.hidden,
        "intermediate_size": shape.ffn,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "max_position_embeddings": sequence,
        "rms_norm_eps": NORM_EPSILON,
        "rope_parameters": {"rope_type": "default", "rope_theta": ROTARY_BASE},
        "tie_word_embeddings": shape.tied,
        "attention_bias": False,
        "mlp_bias": False,
    }


def _as_llama(shape: TransformerShape) -> TransformerShape:
    """Return a Llama with the same dimensions."""
    plain = TransformerShape(
        kind=TransformerKind.DECODER, layers=shape.layers, hidden=shape.hidden, heads=shape.heads, ffn=shape.ffn,
        vocab=shape.vocab, kv_heads=shape.kv_heads, head_dim=shape.head_dim, gated=True, tied=shape.tied,
        norm=NormKind.RMS, norm_bias=shape.norm_bias, qkv_bias=False, attention_output_bias=False, ffn_bias=False,
        head=Head.LANGUAGE_MODEL,
    )  # fmt: skip
    return replace(plain, name=shape.name, dropout=shape.dropout, max_positions=0)
