"""Test why a trainer's batches cannot be sliced, from its attributes alone. Real trainers are in tests/outside."""

from types import SimpleNamespace
from typing import Any

import pytest

from flyball.frameworks.trainer_batches import batch_of_rank
from flyball.frameworks.trainer_reasons import reason_against


class OfFramework:
    """A trainer whose methods are those of transformers."""

    def compute_loss(self) -> None:
        """Compute a loss."""

    training_step = get_batch_samples = compute_loss


OfFramework.compute_loss.__module__ = "transformers.trainer"


class OwnLoss(OfFramework):
    """A trainer with a loss of its own."""

    def compute_loss(self) -> None:
        """Compute a loss."""


def trainer(kind: type[OfFramework] = OfFramework, *, ranks: int = 1, gpus: int = 1, **attributes: Any) -> Any:
    """Return an object with the attributes of a trainer on some ranks."""
    made = kind()
    accelerator = SimpleNamespace(parallelism_config=attributes.pop("parallelism_config", None))
    known = {"args": SimpleNamespace(n_gpu=gpus, world_size=ranks), "accelerator": accelerator}
    made.__dict__.update({"model_accepts_loss_kwargs": True} | known | attributes)
    return made


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (trainer(is_deepspeed_enabled=True), "deepspeed"),
        (trainer(is_fsdp_enabled=True), "fsdp"),
        (trainer(is_distributed_loading_by_transformers=True), "fsdp"),
        (trainer(gpus=2), "data_parallel"),
        (trainer(parallelism_config=object()), "model_parallel"),
        (trainer(is_tp_enabled=True), "model_parallel"),
        (trainer(OwnLoss, ranks=2), "own_loss"),
        (trainer(loss_is_scaled_for_ga=False), "mean_of_means"),
        (trainer(model_accepts_loss_kwargs=False), "mean_of_means"),
        (trainer(ranks=2), "unknown_model"),  # no DistributedDataParallel
        (trainer(OwnLoss), ""),
        (trainer(model_accepts_loss_kwargs=False, compute_loss_func=len), ""),
        (trainer(), ""),
    ],
)
def test_the_attributes_of_a_trainer_give_the_reason(one: Any, reason: str) -> None:
    """Each way to train that slices would change has its reason; a loss of one's own counts on several ranks alone."""
    assert reason_against(one, object(), items=1) == reason


def test_a_batch_without_a_count_has_a_reason() -> None:
    """Trainer did not count the labels, for example because a batch has none."""
    assert reason_against(trainer(), None, items=None) == "no_token_count"


@pytest.mark.parametrize(("split", "expected"), [(False, 16), (True, 4)])
def test_the_batch_of_a_rank_is_a_part_where_accelerate_splits_it(split: bool, expected: int) -> None:
    """With `split_batches`, the loader's batch is divided among the ranks."""
    config = SimpleNamespace(split_batches=split)
    arguments = SimpleNamespace(train_batch_size=16, world_size=4, accelerator_config=config)
    assert batch_of_rank(SimpleNamespace(args=arguments)) == expected


def test_the_batch_of_a_rank_is_the_one_that_trainer_has_found() -> None:
    """With `auto_find_batch_size`, Trainer uses a smaller batch than its arguments have."""
    arguments = SimpleNamespace(train_batch_size=16, world_size=1)
    assert batch_of_rank(SimpleNamespace(args=arguments, _train_batch_size=14)) == 14
