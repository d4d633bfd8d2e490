"""Growth of the work of a transformer with its sequence and dimensions."""

from flyball_planner.models.complexity import TRANSFORMER, Complexity
from flyball_planner.models.transformer.shape import TransformerShape


def transformer_complexity(shape: TransformerShape) -> Complexity:
    """Return the growth of a transformer, with experts, a window of attention, and generation where they apply."""
    training, inference, because = TRANSFORMER.training, TRANSFORMER.inference, TRANSFORMER.because
    if shape.sliding_window and not shape.full_attention_every:
        training, inference = (each.replace("s²·d", "s·w·d") for each in (training, inference))
        because = because.replace("compares the s tokens with each other", "compares each token with the w before it")
    if shape.experts is not None:
        because += f" Of {shape.experts.count} experts, {shape.experts.active} compute for each token."
    return Complexity(training, inference, because)
