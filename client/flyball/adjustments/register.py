"""The place where ranks decide together: the c10d store of the job itself, because it shares the job's fate.

The first rank that comes to a boundary writes what it knows, and all obey what is written. A register elsewhere could
split the ranks when it is lost. There is no limit of time: a rank that goes on without an answer could differ.
"""

from __future__ import annotations

from flyball.training.loaded_modules import loaded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    class Register(Protocol):
        """Decides once for each key."""

        kind: str

        def decide(self, key: str, mine: str) -> str:
            """Write a decision if there is none yet. Return the one that all obey."""

        def peek(self, key: str) -> str:
            """Return the decision, or an empty text if there is none yet."""


class OwnRegister:
    """The register of one rank that decides alone: of a run with one rank, or of values on which ranks may differ."""

    __slots__ = ("kind",)

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def decide(self, key: str, mine: str) -> str:  # noqa: ARG002  the signature of registers
        """Return its own decision."""
        return mine

    def peek(self, key: str) -> str:  # noqa: ARG002  the signature of registers
        """Return that nobody else has decided."""
        return ""


LOCAL = OwnRegister("local")
NONE = OwnRegister("none")


class StoreRegister:
    """The register in the store of torch.distributed."""

    __slots__ = ("_store", "kind")

    def __init__(self, store: Any) -> None:
        self._store = store
        self.kind = "c10d"

    def decide(self, key: str, mine: str) -> str:
        """Write a decision if there is none yet. Return the one that all obey."""
        return _text(self._store.compare_set(key, "", mine))

    def peek(self, key: str) -> str:
        """Return the decision, or an empty text if there is none yet."""
        return _text(self._store.get(key)) if self._store.check([key]) else ""


def find_register(world_size: int) -> Register:
    """Return the register of this rank at this moment.

    Without one whose ranks are those of the run, changes of the mathematics are not possible. Training that
    synchronises only now and then (torchft) has none: its ranks do not count steps alike.
    """
    distributed = loaded("torch.distributed")
    try:
        if distributed is None or not distributed.is_available() or not distributed.is_initialized():
            return LOCAL if world_size == 1 else NONE
        if distributed.get_world_size() != world_size or loaded("torchft") is not None:
            return NONE
        return LOCAL if world_size == 1 else StoreRegister(_default_store())
    except Exception:  # noqa: BLE001  another version of torch: then there is no register
        return NONE


def _default_store() -> Any:
    """Return the store with which the default process group began. PyTorch's own function for it is private."""
    return loaded("torch.distributed.distributed_c10d")._get_default_store()  # type: ignore[union-attr]  # checked by the caller


def _text(found: object) -> str:
    return found.decode() if isinstance(found, bytes) else str(found)
