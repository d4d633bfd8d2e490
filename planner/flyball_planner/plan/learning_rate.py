"""The learning rate of a plan: the specified one, or the usual one of published trainings of this kind and size."""

from msgspec import Struct

from flyball_planner.configurations import recipe
from flyball_planner.models.transformer.counts import parameters
from flyball_planner.models.transformer.shape import TransformerKind, TransformerShape
from flyball_planner.plan.subject import Subject, trained_by_gradient
from flyball_planner.training import Method, Training
from flyball_reports.figures import count

ADAM = 1e-3  # Kingma and Ba, 2015, algorithm 1
SGD_IMAGES, SGD_BATCH = 0.1, 256  # Goyal et al., 2017: ResNet-50, in proportion to the batch
VISION, VISION_BATCH = 5e-4, 512  # Touvron et al., 2021 (DeiT), in proportion to the batch
ENCODER = 1e-4  # Devlin et al., 2019 (BERT), pretraining
ADAPTERS, LARGE_ADAPTERS, LARGE = 2e-4, 1e-4, 33e9  # Dettmers et al., 2023 (QLoRA), table 9


class LearningRate(Struct, frozen=True):
    """A learning rate and where it comes from."""

    value: float | None  # None: the model is not trained in gradient steps
    basis: str


def learning_rate(subject: Subject, training: Training, given: float | None) -> LearningRate:
    """Return the specified learning rate, or a recommended one that is marked as such."""
    if not trained_by_gradient(subject):
        return LearningRate(None, "")
    if given is not None:
        return LearningRate(given, "as specified")
    value, because = _usual(subject, training)
    return LearningRate(float(f"{value:.3g}"), f"recommended: {because}")  # more digits would claim to matter


def _usual(subject: Subject, training: Training) -> tuple[float, str]:
    if training.optimizer.name.startswith("sgd"):
        rate = SGD_IMAGES * training.global_batch / SGD_BATCH
        return min(SGD_IMAGES, rate), "0.1 for 256 samples, in proportion to smaller batches (Goyal et al., 2017)"
    if not isinstance(subject, TransformerShape):
        if subject.generation is not None:  # a language model
            return recipe.learning_rate(subject.parameters), _as_gpt3(subject.parameters)
        return ADAM, "the usual rate of Adam (Kingma and Ba, 2015)"
    size = float(parameters(subject).total)
    if training.method is not Method.FULL:
        return ADAPTERS if size < LARGE else LARGE_ADAPTERS, "the usual rate of adapters (Dettmers et al., 2023)"
    if subject.patches is not None:
        rate = VISION * training.global_batch / VISION_BATCH
        return rate, "5e-4 for 512 images, in proportion to the batch (Touvron et al., 2021)"
    if subject.kind is TransformerKind.ENCODER:
        return ENCODER, "that of BERT's pretraining (Devlin et al., 2019)"
    return recipe.learning_rate(size), _as_gpt3(size)


def _as_gpt3(size: float) -> str:
    """Return how the rate follows from those of GPT-3's models, whose sizes it lies between or beyond."""
    (smallest, _), *_, (largest, _) = recipe.LEARNING_RATES
    source = "(Brown et al., 2020, table 2.1)"
    if smallest <= size <= largest:
        return f"between those of GPT-3's models of {count(smallest)} to {count(largest)} parameters {source}"
    end, name = (smallest, "smallest") if size < smallest else (largest, "largest")
    return f"extrapolated from GPT-3's {name} model of {count(end)} parameters {source}"
