"""The samples and tokens of a batch."""

from collections import UserDict

import pytest

from flyball.hooks.batches import amounts
from tests.client.hooks.test_loaders import Batch


class Forbidden(dict[str, object]):
    """A batch whose methods have effects."""

    def get(self, *_: object) -> object:
        """Fail if it is called."""
        raise AssertionError

    values = get  # type: ignore[assignment]


class Encoding(UserDict[str, object]):
    """The class that a tokenizer returns."""


@pytest.mark.parametrize(
    ("batch", "expected"),
    [
        (Batch(32, 3, 8, 8), (32, None)),
        ((Batch(32, 8), Batch(32)), (32, None)),
        ([[Batch(16, 8)], 3], (16, None)),
        ({"input_ids": Batch(8, 512), "labels": Batch(8, 512)}, (8, 4096)),
        (Encoding({"attention_mask": Batch(8, 512), "input_ids": Batch(8, 512)}), (8, 4096)),
        (Forbidden(input_ids=Batch(8, 512)), (8, 4096)),
        (Forbidden(pixels=Batch(8, 3)), (8, None)),
        ({"input_ids": Batch(512)}, (512, None)),
        ({"name": "x", "image": Batch(5, 3)}, (5, None)),
        (Batch(), (None, None)),
        ("text", (None, None)),
        ([], (None, None)),
        ({}, (None, None)),
        (None, (None, None)),
        ([["a", "b"]], (None, None)),
        (type("Odd", (), {"shape": "abc"})(), (None, None)),
    ],
)
def test_shapes_show_how_much_a_batch_holds(batch: object, expected: tuple[int | None, int | None]) -> None:
    """The first dimension counts samples, named tokens count as a whole; everything else is unknown."""
    assert amounts(batch) == expected
