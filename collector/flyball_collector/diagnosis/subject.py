"""What a diagnosis is about: a host, one of its GPUs, one of its resources, a run, or a rank of a run."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

_UUID = re.compile(r"([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
"""As RFC 9562 writes it; people tell GPUs apart by its first eight digits."""


class Subject(NamedTuple):
    """Names that are empty do not apply; `resource` is a mount, a device, an interface."""

    host: str = ""
    gpu: str = ""
    run: str = ""
    rank: int | None = None
    resource: str = ""

    def words(self, gpu_index: int | None = None) -> str:
        """For people: the innermost name with where it is; `gpu_index` is the GPU's number, where it is known."""
        rank = f"rank {self.rank}" if self.rank is not None else ""
        run = f"run {self.run}" if self.run else ""
        inner = ", ".join(word for word in (self.resource, gpu_words(self.gpu, gpu_index), rank, run) if word)
        return " on ".join(word for word in (inner, self.host) if word)


def gpu_words(gpu: str, index: int | None = None) -> str:
    """GPU 3; where its number is unknown the beginning of its UUID. For people only: programs are told the UUID."""
    if not gpu:
        return ""
    name = _UUID.sub(r"\1", gpu).removeprefix("GPU-") if index is None else str(index)
    return f"GPU {name}"


@dataclass(frozen=True, eq=False)
class Subjects:
    """Subjects in a fixed order; `hosts` holds the position of each one's host in the view (−1: none of its own).

    One object stands for one order: whoever keeps arrays along it compares by identity.
    """

    names: tuple[Subject, ...]
    hosts: NDArray[np.int64]
    _shared: "WeakKeyDictionary[Subjects, tuple[NDArray[np.int64], NDArray[np.int64]]]" = field(
        default_factory=WeakKeyDictionary, repr=False
    )

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def places(self) -> dict[Subject, int]:
        """Where each stands."""
        return {subject: place for place, subject in enumerate(self.names)}

    def shared_with(self, others: "Subjects") -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Places here and there of the subjects that are in both; remembered for as long as the others are there."""
        shared = self._shared.get(others)
        if shared is None:
            pairs = [(here, others.places[name]) for here, name in enumerate(self.names) if name in others.places]
            found = np.array(pairs, dtype=np.int64).reshape(-1, 2)
            shared = self._shared[others] = found[:, 0], found[:, 1]
        return shared


def subjects(names: Sequence[Subject], hosts: Sequence[int] | NDArray[np.int64] | None = None) -> Subjects:
    """Subjects from a list; without `hosts` none has a host of its own."""
    positions = np.full(len(names), -1, dtype=np.int64) if hosts is None else np.asarray(hosts, dtype=np.int64)
    return Subjects(tuple(names), positions)
