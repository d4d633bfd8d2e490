"""How long a transformer's samples are, and how many layers it has of which kind."""

from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.training import Training


def layers_of(shape: TransformerShape) -> int:
    """All of them, of both stacks, with those that predict further tokens."""
    return shape.layers + shape.decoder_layers + shape.multi_token_layers


def sequence_of(shape: TransformerShape, training: Training) -> int:
    """Tokens of a sample: an image's patches, or what the training says."""
    if shape.patches is None:
        return training.sequence
    return (shape.patches.image // shape.patches.patch) ** 2 + int(shape.patches.class_token)


def expert_layers(shape: TransformerShape) -> int:
    """How many layers have experts."""
    if shape.experts is None:
        return 0
    return -(-(shape.layers - shape.experts.first_dense_layers) // shape.experts.every_layers)
