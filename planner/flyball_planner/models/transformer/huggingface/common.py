"""Common parts of most families."""

from flyball_planner.models.transformer.huggingface.settings import Settings
from flyball_planner.models.transformer.shape import Head, NormKind, TransformerKind, TransformerShape

HEADS = {
    "": Head.LANGUAGE_MODEL,
    "ForCausalLM": Head.LANGUAGE_MODEL,
    "LMHeadModel": Head.LANGUAGE_MODEL,
    "ForConditionalGeneration": Head.LANGUAGE_MODEL,
    "ForMaskedLM": Head.MASKED_LANGUAGE_MODEL,
    "ForPreTraining": Head.PRETRAINING,
    "ForSequenceClassification": Head.LABELS,
    "ForTokenClassification": Head.LABELS,
    "ForQuestionAnswering": Head.LABELS,
    "ForImageClassification": Head.CLASSIFIER,
    "ForImageClassificationWithTeacher": Head.CLASSIFIER,
    "EncoderModel": Head.NONE,
    "Model": Head.NONE,
}

BIASED_LABELS = frozenset({"ForTokenClassification", "ForQuestionAnswering"})
"""Heads with a bias in every family; a decoder's sequence classifier has none."""


def decoder(settings: Settings) -> TransformerShape:
    """Return a decoder like Llama: gated, RMS norms, grouped keys, rotary positions, biases as in the settings."""
    heads, hidden = settings.count("num_attention_heads"), settings.count("hidden_size")
    biased = settings.flag("attention_bias")
    head = HEADS[settings.architecture]
    return TransformerShape(
        kind=TransformerKind.DECODER,
        layers=settings.count("num_hidden_layers"),
        hidden=hidden,
        heads=heads,
        ffn=settings.count("intermediate_size", 4 * hidden),
        vocab=settings.count("vocab_size"),
        kv_heads=settings.count("num_key_value_heads", heads),
        head_dim=settings.count("head_dim", hidden // heads),
        gated=True,
        tied=settings.flag("tie_word_embeddings"),
        norm=NormKind.RMS,
        qkv_bias=biased,
        attention_output_bias=biased,
        ffn_bias=settings.flag("mlp_bias"),
        output_bias=head is Head.LABELS and settings.architecture in BIASED_LABELS,
        sliding_window=settings.integer("sliding_window", 0),
        head=head,
        labels=settings.labels,
        dropout=settings.dropout,
        name=settings.text("_name_or_path"),
    )


def encoder(settings: Settings) -> TransformerShape:
    """Return an encoder like BERT: learned positions, layer norms after each block, biases everywhere."""
    heads, hidden = settings.count("num_attention_heads"), settings.count("hidden_size")
    head = HEADS[settings.architecture] if settings.architecture else Head.MASKED_LANGUAGE_MODEL
    return TransformerShape(
        kind=TransformerKind.ENCODER,
        layers=settings.count("num_hidden_layers"),
        hidden=hidden,
        heads=heads,
        ffn=settings.count("intermediate_size"),
        vocab=settings.count("vocab_size"),
        kv_heads=heads,
        head_dim=hidden // heads,
        max_positions=settings.integer("max_position_embeddings"),
        type_vocab=settings.integer("type_vocab_size", 0),
        tied=settings.flag("tie_word_embeddings", True),
        output_bias=True,
        final_norm=False,
        embedding_norm=True,
        head=head,
        labels=settings.labels,
        dropout=settings.dropout,
        name=settings.text("_name_or_path"),
    )
