"""Vision transformers: ViT, DeiT, DINOv2, and the image encoder of SigLIP."""

from msgspec.structs import replace

from flyball_planner.models.transformer.huggingface.common import HEADS
from flyball_planner.models.transformer.huggingface.settings import ConfigFamily, Settings
from flyball_planner.models.transformer.shape import Head, Patches, TransformerKind, TransformerShape


def _vit(settings: Settings) -> TransformerShape:
    return _vision(settings, _cut(settings))


def _cut(settings: Settings) -> Patches:
    return Patches(
        image=settings.count("image_size"),
        patch=settings.count("patch_size"),
        channels=settings.count("num_channels", 3),
        classes=settings.labels,
    )


def _vision(settings: Settings, cut: Patches) -> TransformerShape:
    heads, hidden = settings.count("num_attention_heads"), settings.count("hidden_size")
    biased = settings.flag("qkv_bias", True)
    return TransformerShape(
        kind=TransformerKind.VISION,
        layers=settings.count("num_hidden_layers"),
        hidden=hidden,
        heads=heads,
        ffn=settings.count("intermediate_size"),
        vocab=0,
        kv_heads=heads,
        head_dim=hidden // heads,
        qkv_bias=biased,
        output_bias=True,
        patches=cut,
        head=HEADS[settings.architecture] if settings.architecture else Head.CLASSIFIER,
        pooler=settings.architecture == "Model",
        dropout=settings.dropout,
        name=settings.text("_name_or_path"),
    )


def _deit(settings: Settings) -> TransformerShape:
    """Return the shape; one more token learns from a teacher, optionally with its own head."""
    shape = _vision(settings, replace(_cut(settings), further_tokens=1))
    taught = settings.architecture == "ForImageClassificationWithTeacher"
    return replace(shape, other_parameters=settings.labels * (shape.hidden + 1) if taught else 0)


def _dinov2(settings: Settings) -> TransformerShape:
    """Return the shape; a scale after each block, and a classifier over the class token and the mean of the others."""
    shape = _vision(settings, _cut(settings))
    swiglu = settings.flag("use_swiglu_ffn")
    ffn = settings.integer("mlp_ratio") * shape.hidden
    mask = shape.hidden if settings.flag("use_mask_token", True) else 0
    mean = settings.labels * shape.hidden if shape.head is Head.CLASSIFIER else 0
    return replace(
        shape,
        ffn=_swiglu_width(ffn) if swiglu else ffn,
        gated=swiglu,
        pooler=False,
        other_layer_parameters=2 * shape.hidden,
        other_parameters=mask + mean,
    )


def _swiglu_width(ffn: int) -> int:
    """Return two thirds of the width, rounded up to a multiple of eight (Dinov2SwiGLUFFN)."""
    return (ffn * 2 // 3 + 7) // 8 * 8


def _siglip_vision(settings: Settings) -> TransformerShape:
    """Return the shape; no class token, and a head with attention over all patches if it is used alone."""
    shape = _vision(settings, replace(_cut(settings), class_token=False))
    shape = replace(shape, pooler=False, head=Head.NONE)
    return replace(shape, other_parameters=_attention_head(shape) if settings.flag("vision_use_head", True) else 0)


def _attention_head(shape: TransformerShape) -> int:
    """Return the parameters of a learned query, one attention with biases, a norm and a feed-forward block."""
    hidden, ffn = shape.hidden, shape.ffn
    return hidden + 4 * (hidden + 1) * hidden + 2 * hidden + (hidden + 1) * ffn + (ffn + 1) * hidden


BASE = {
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "image_size": 224,
    "patch_size": 16,
}

VIT = ConfigFamily(("vit",), _vit, BASE)
DEIT = ConfigFamily(("deit",), _deit, BASE)
DINOV2 = ConfigFamily(("dinov2",), _dinov2, {**BASE, "mlp_ratio": 4, "patch_size": 14})
SIGLIP_VISION = ConfigFamily(("siglip_vision_model",), _siglip_vision, BASE, class_stem="SiglipVision")
