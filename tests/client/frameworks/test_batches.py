"""Test the sizes of batches."""

from collections import UserDict
from typing import Any

import pytest

from flyball.frameworks.batches import added, batch_samples, batch_tokens


class Tensor:
    """Something with a shape, whose values nobody may read."""

    def __init__(self, *shape: object) -> None:
        self.shape = shape

    def __iter__(self) -> Any:
        raise AssertionError("a value was read")

    __float__ = __int__ = __bool__ = __len__ = __iter__


TEXTS = {"input_ids": Tensor(4, 128), "attention_mask": Tensor(4, 128)}


@pytest.mark.parametrize(
    ("batch", "samples"),
    [
        (TEXTS, 4),
        (UserDict(TEXTS), 4),
        (Tensor(16, 3, 224, 224), 16),
        ([Tensor(8, 3), Tensor(8)], 8),
        ((Tensor(), Tensor(8)), 8),
        ({"names": ["a", "b"], "points": {"inner": Tensor(6, 2)}}, 6),
        ([], None),
        (["a", "b"], None),
        (None, None),
        ({"weight": Tensor()}, None),
        (Tensor("unknown", 3), None),
    ],
)
def test_samples_are_the_first_dimension_of_the_first_tensor(batch: object, samples: int | None) -> None:
    """Mappings, lists and tensors in each other are searched; a batch without one has an unknown size, not 0."""
    assert batch_samples(batch) == samples


@pytest.mark.parametrize(
    ("batch", "tokens"),
    [
        (TEXTS, 512),
        (UserDict(TEXTS), 512),
        ({"input_ids": [1, 2, 3]}, None),
        ({"pixel_values": Tensor(4, 3)}, None),
        (Tensor(4, 128), None),
    ],
)
def test_tokens_are_known_for_texts_alone(batch: object, tokens: int | None) -> None:
    """The tokens of `input_ids` are counted, padding included; images have none."""
    assert batch_tokens(batch) == tokens


def test_a_list_that_contains_itself_ends() -> None:
    """The search stops at a depth."""
    endless: list[object] = []
    endless.append(endless)
    assert batch_samples(endless) is None


def test_unknown_counts_add_up_to_unknown() -> None:
    """Two unknown counts stay unknown, and known ones are added."""
    assert [added(None, None), added(None, 3), added(3, None), added(3, 4)] == [None, 3, 3, 7]
