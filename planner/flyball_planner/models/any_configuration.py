"""Any Hugging Face configuration: a transformer's shape, or the cost of a model with state-space layers."""

from collections.abc import Mapping

from flyball_planner.models.cost import ModelCost
from flyball_planner.models.state_space.named import CONFIGURATIONS, is_state_space, named_configuration
from flyball_planner.models.transformer.huggingface.reader import shape_from_huggingface
from flyball_planner.models.transformer.named_shapes import named_shape, shape_names
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_reports.errors import UnknownName

USUAL_SEQUENCE = 2048  # tokens, as for a transformer without a stated length


def subject_from_huggingface(config: Mapping[str, object], sequence: int | None = None) -> TransformerShape | ModelCost:
    """Return what a plan needs to know about a `config.json`; only state-space models need the sequence for it."""
    if not is_state_space(config):
        return shape_from_huggingface(config)
    # Transformers are far more frequent, and do not need these modules.
    from flyball_planner.models.state_space.cost import state_space_cost  # noqa: PLC0415
    from flyball_planner.models.state_space.reading import state_space_shape  # noqa: PLC0415

    return state_space_cost(state_space_shape(config), sequence or USUAL_SEQUENCE)


def named_subject(name: str, sequence: int | None = None) -> TransformerShape | ModelCost:
    """Return a well-known model by its name; raises `UnknownName`."""
    config = named_configuration(name)
    if config is None:
        return named_shape(name)
    return subject_from_huggingface({**config, "_name_or_path": name}, sequence)


def known_names() -> tuple[str, ...]:
    """Return the names of well-known transformers and state-space models."""
    return (*shape_names(), *CONFIGURATIONS)


def is_known(name: str) -> bool:
    """Return True if there is a well-known model of this name."""
    try:
        named_subject(name)
    except UnknownName:
        return False
    return True
