"""Llama 4: experts with a shared one, chunked attention in three of four layers, and an image encoder."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import decoder
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import Experts, TransformerShape


def _llama4_text(settings: Settings) -> TransformerShape:
    width = settings.count("intermediate_size")
    experts = Experts(
        count=settings.count("num_local_experts"),
        active=settings.count("num_experts_per_tok"),
        ffn=width,
        shared=1,
        shared_ffn=width,
        every_layers=settings.count("interleave_moe_layer_step"),
    )
    return replace(
        decoder(settings),
        ffn=settings.count("intermediate_size_mlp"),
        experts=experts,
        sliding_window=settings.integer("attention_chunk_size", 0),
        full_attention_every=settings.count("no_rope_layer_interval"),
    )


def _llama4(settings: Settings) -> TransformerShape:
    """Return the text model; the image encoder only has its parameters."""
    text = LLAMA4_TEXT.shape({"model_type": "llama4_text", **settings.within("text_config")})
    images = Settings(settings.within("vision_config"), IMAGES)
    projector = images.count("vision_output_dim") * text.hidden
    return replace(text, other_parameters=_image_encoder(images) + projector)


def _image_encoder(images: Settings) -> int:
    """Return the parameters of patches, positions, layers with biases, and the adapter behind them."""
    hidden, ffn = images.count("hidden_size"), images.count("intermediate_size")
    layer = 4 * (hidden + 1) * hidden + (hidden + 1) * ffn + (ffn + 1) * hidden + 4 * hidden
    patch = images.count("patch_size")
    tokens = (images.count("image_size") // patch) ** 2 + 1
    around = (images.count("num_channels") * patch**2 + 1 + tokens + 4) * hidden
    adapter = ffn * images.count("projector_input_dim") + images.count("projector_output_dim") ** 2
    return images.count("num_hidden_layers") * layer + around + adapter


LLAMA4_TEXT = ConfigFamily(
    ("llama4_text",),
    _llama4_text,
    {
        "vocab_size": 202048,
        "hidden_size": 5120,
        "num_hidden_layers": 48,
        "num_attention_heads": 40,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "intermediate_size": 8192,
        "intermediate_size_mlp": 16384,
        "num_local_experts": 16,
        "num_experts_per_tok": 1,
        "interleave_moe_layer_step": 1,
        "no_rope_layer_interval": 4,
        "attention_chunk_size": 8192,
        "tie_word_embeddings": False,
    },
    class_stem="Llama4",
)
IMAGES = {
    "hidden_size": 768,
    "num_hidden_layers": 34,
    "intermediate_size": 5632,
    "num_channels": 3,
    "image_size": 448,
    "patch_size": 14,
    "vision_output_dim": 7680,
    "projector_input_dim": 4096,
    "projector_output_dim": 4096,
}
LLAMA4 = ConfigFamily(("llama4",), _llama4)
