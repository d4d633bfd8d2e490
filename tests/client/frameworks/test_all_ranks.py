"""Test that ranks begin something together or not at all."""

import threading
from collections.abc import Callable

import pytest

from flyball.adjustments.register import NONE
from flyball.frameworks.all_ranks import all_agree


class SharedRegister:
    """A register as the store of torch.distributed is one: the first decision counts."""

    kind = "c10d"

    def __init__(self) -> None:
        self.written: dict[str, str] = {}

    def decide(self, key: str, mine: str) -> str:
        """Write a decision if there is none yet."""
        return self.written.setdefault(key, mine)

    def peek(self, key: str) -> str:
        """Return what is written."""
        return self.written.get(key, "")


def together(*ranks: Callable[[], bool]) -> list[bool]:
    """Run the ranks in threads and return their answers."""
    answers: dict[int, bool] = {}
    threads = [
        threading.Thread(target=lambda index=index, rank=rank: answers.update({index: rank()}))
        for index, rank in enumerate(ranks)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [answers[index] for index in range(len(ranks))]


def rank_of(register: SharedRegister, rank: int, ranks: int, agrees: bool, seconds: float) -> Callable[[], bool]:
    """Return a rank that comes to its first batch."""
    return lambda: all_agree(register, "key", rank=rank, ranks=ranks, agrees=agrees, seconds=seconds)


def test_ranks_that_all_come_agree() -> None:
    """Three ranks that want it begin together."""
    register = SharedRegister()
    assert together(*[rank_of(register, rank, 3, agrees=True, seconds=60) for rank in range(3)]) == [True] * 3


@pytest.mark.parametrize("refusing", [(True, True), (True, False), (False, True)])
def test_one_rank_that_refuses_is_enough(refusing: tuple[bool, ...]) -> None:
    """Whatever the order in which they come, all ranks get the same answer, and quickly."""
    register = SharedRegister()
    wanted = [*refusing, False]
    assert together(*[rank_of(register, rank, 3, wanted[rank], 60) for rank in range(3)]) == [False] * 3


def test_a_rank_that_never_comes_is_not_waited_for() -> None:
    """Flyball is attached on one of two ranks only: it goes on without, and one that comes too late obeys."""
    register = SharedRegister()
    assert not rank_of(register, 0, 2, agrees=True, seconds=0.05)()
    assert not rank_of(register, 1, 2, agrees=True, seconds=60)()


def test_without_a_register_nothing_begins() -> None:
    """Ranks that have no common store never agree."""
    assert not all_agree(NONE, "key", rank=0, ranks=2, agrees=True)
