"""Why the micro-batch of a trainer of transformers cannot change. Only attributes are looked at."""

from __future__ import annotations

from typing import Any

from flyball.micro_batches.models import reason_against as reason_against_model

NO_TOKEN_COUNT = "no_token_count"  # noqa: S105  tokens of a text
MEAN_OF_MEANS = "mean_of_means"

_FRAMEWORK = "transformers."
_COLLECTIVE_METHODS = ("compute_loss", "training_step", "get_batch_samples")


def reason_against(trainer: Any, model: Any, items: Any) -> str:
    """Return why the batch that this model is about to compute cannot be sliced, or nothing."""
    return _of_parallelism(trainer) or _of_loss(trainer, items) or reason_against_model(model, trainer.args.world_size)


def _of_parallelism(trainer: Any) -> str:
    """Return a reason for which one process does not compute its own batch alone."""
    accelerator = trainer.accelerator
    if getattr(trainer, "is_deepspeed_enabled", False):
        return "deepspeed"  # slices would be steps of its engine
    if getattr(trainer, "is_fsdp_enabled", False) or getattr(trainer, "is_distributed_loading_by_transformers", False):
        return "fsdp"
    if trainer.args.n_gpu > 1:
        return "data_parallel"
    if getattr(accelerator, "parallelism_config", None) is not None or getattr(trainer, "is_tp_enabled", False):
        return "model_parallel"
    return ""


def _of_loss(trainer: Any, items: Any) -> str:
    """Return a reason for which the losses of slices do not add up to that of the batch."""
    if trainer.args.world_size > 1 and not all(_is_of_framework(trainer, name) for name in _COLLECTIVE_METHODS):
        return "own_loss"  # it may be collective, and ranks whose batches differ would wait for each other for ever
    if getattr(trainer, "loss_is_scaled_for_ga", None) is False:
        return MEAN_OF_MEANS
    if not getattr(trainer, "model_accepts_loss_kwargs", False) and not getattr(trainer, "compute_loss_func", None):
        return MEAN_OF_MEANS
    return NO_TOKEN_COUNT if items is None else ""


def _is_of_framework(trainer: Any, name: str) -> bool:
    return str(getattr(getattr(type(trainer), name, None), "__module__", "")).startswith(_FRAMEWORK)
