"""Transformers by a few numbers: an encoder like BERT, a decoder like GPT-2 or, gated, like Llama."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from msgspec import Meta
from msgspec.structs import replace

from flyball_planner.models.cost import ModelCost
from flyball_planner.models.family import ModelFamily
from flyball_planner.models.specification import Count, NetworkSpecification, UnfitKey
from flyball_planner.models.transformer.cost import transformer_cost
from flyball_planner.models.transformer.growth import transformer_complexity
from flyball_planner.models.transformer.shape import Head, NormKind, TransformerKind, TransformerShape

HEAD_WIDTH = 64  # of published encoders and GPT-2, if no number of heads is given
# times the hidden width, so that three matrices have as many weights as two of 4 (Shazeer, arXiv 2002.05202)
GATED_FFN = 8 / 3


class Transformer(NetworkSpecification, frozen=True, kw_only=True):
    """Keys of encoders and decoders."""

    spellings: ClassVar[Mapping[str, str]] = {
        "d_model": "hidden", "hidden_size": "hidden", "d_in": "hidden", "seq_len": "sequence",
        "sequence_length": "sequence", "n_layers": "layers", "n_heads": "heads", "num_heads": "heads",
        "vocab_size": "vocab", "d_ff": "ffn", "d_out": "vocab",
    }  # fmt: skip

    layers: Annotated[int, Meta(ge=1, le=10_000, description="layers")] = 12
    hidden: Annotated[Count, Meta(description="width of the residual stream")] = 768
    heads: Annotated[int, Meta(ge=0, description="attention heads; 0: width divided by 64")] = 0
    kv_heads: Annotated[int, Meta(ge=0, description="heads of keys and values; 0: as many as for queries")] = 0
    ffn: Annotated[
        int, Meta(ge=0, description="width of the feed-forward block; 0: 4 × hidden, or 8/3 × hidden if gated")
    ] = 0
    vocab: Annotated[Count, Meta(description="size of the vocabulary")] = 50_257
    sequence: Annotated[Count, Meta(description="tokens per sample")] = 1_024
    gated: Annotated[bool, Meta(description="three matrices in the feed-forward block, no biases, as in Llama")] = False
    tied: Annotated[bool, Meta(description="the output projection is the embedding")] = True


def encoder_shape(wanted: Transformer) -> TransformerShape:
    """Return a shape like BERT: bidirectional, with segment embeddings and a masked-language-model head."""
    return replace(
        _shape("transformer_encoder", TransformerKind.ENCODER, wanted),
        type_vocab=2,
        embedding_norm=True,
        final_norm=False,
        output_bias=True,
        head=Head.MASKED_LANGUAGE_MODEL,
    )


def decoder_shape(wanted: Transformer) -> TransformerShape:
    """Return a shape like GPT-2, or like Llama if gated."""
    return _shape("transformer_decoder", TransformerKind.DECODER, wanted)


def encoder(wanted: Transformer) -> ModelCost:
    """Return the encoder's cost."""
    return _trained(encoder_shape(wanted), wanted)


def decoder(wanted: Transformer) -> ModelCost:
    """Return the decoder's cost."""
    return _trained(decoder_shape(wanted), wanted)


def _trained(shape: TransformerShape, wanted: Transformer) -> ModelCost:
    cost = transformer_cost(shape, wanted.sequence)
    return replace(
        cost,
        samples=wanted.n,
        passes=wanted.epochs,
        batch=wanted.batch_size,
        precision=wanted.precision,
        complexity=transformer_complexity(shape),
    )


def _shape(model: str, kind: TransformerKind, wanted: Transformer) -> TransformerShape:
    heads = wanted.heads or max(1, wanted.hidden // HEAD_WIDTH)
    kv_heads = wanted.kv_heads or heads
    if wanted.hidden % heads:
        raise UnfitKey(
            model, "heads", f"{heads} does not divide a width of {wanted.hidden}", expected="a divisor of it"
        )
    if heads % kv_heads:
        raise UnfitKey(model, "kv_heads", f"{kv_heads} does not divide {heads} heads", expected="a divisor of heads")
    plain = not wanted.gated
    return TransformerShape(
        kind=kind,
        layers=wanted.layers,
        hidden=wanted.hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=wanted.hidden // heads,
        ffn=wanted.ffn or round(wanted.hidden * (4 if plain else GATED_FFN)),
        vocab=wanted.vocab,
        max_positions=wanted.sequence if plain else 0,
        gated=wanted.gated,
        tied=wanted.tied,
        norm=NormKind.LAYER if plain else NormKind.RMS,
        norm_bias=plain,
        qkv_bias=plain,
        attention_output_bias=plain,
        ffn_bias=plain,
        dropout=plain,
        name=model,
    )


FAMILIES = (
    ModelFamily("transformer_encoder", "transformer like BERT", Transformer, encoder, encoder_shape),
    ModelFamily("transformer_decoder", "transformer like GPT-2 or Llama", Transformer, decoder, decoder_shape),
)
