"""The subjects of a diagnosis: a host, one of its GPUs or resources, a run, or a rank of a run."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

_UUID = re.compile(r"([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
"""The format of RFC 9562. The first eight digits are enough to distinguish GPUs."""


class Subject(NamedTuple):
    """The subject of a condition. Empty names do not apply; `resource` is a mount, a device or an interface."""

    host: str = ""
    gpu: str = ""
    run: str = ""
    rank: int | None = None
    resource: str = ""

    def words(self, gpu_index: int | None = None) -> str:
        """Describe the subject for people, innermost name first.

        `gpu_index` is the GPU's number on its host, if known.
        """
        rank = f"rank {self.rank}" if self.rank is not None else ""
        run = f"run {self.run}" if self.run else ""
        inner = ", ".join(word for word in (self.resource, gpu_words(self.gpu, gpu_index), rank, run) if word)
        return " on ".join(word for word in (inner, self.host) if word)


def gpu_words(gpu: str, index: int | None = None) -> str:
    """Describe a GPU for people: by its number, or by the start of its UUID. Programs use the full UUID."""
    if not gpu:
        return ""
    name = _UUID.sub(r"\1", gpu).removeprefix("GPU-") if index is None else str(index)
    return f"GPU {name}"


@dataclass(frozen=True, eq=False)
class Subjects:
    """Subjects in a fixed order. `hosts` holds the position of each subject's host in the view; −1 means no host.

    Each order is one object. Code that keeps arrays along it compares orders by identity.
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
        """Map each subject to its position."""
        return {subject: place for place, subject in enumerate(self.names)}

    def shared_with(self, others: "Subjects") -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the positions, here and in `others`, of the subjects in both.

        The result is cached while `others` lives.
        """
        shared = self._shared.get(others)
        if shared is None:
            pairs = [(here, others.places[name]) for here, name in enumerate(self.names) if name in others.places]
            found = np.array(pairs, dtype=np.int64).reshape(-1, 2)
            shared = self._shared[others] = found[:, 0], found[:, 1]
        return shared


def subjects(names: Sequence[Subject], hosts: Sequence[int] | NDArray[np.int64] | None = None) -> Subjects:
    """Build `Subjects` from a list. Without `hosts`, no subject has a host."""
    positions = np.full(len(names), -1, dtype=np.int64) if hosts is None else np.asarray(hosts, dtype=np.int64)
    return Subjects(tuple(names), positions)
