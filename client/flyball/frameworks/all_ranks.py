"""Lets all ranks of a job begin something together, or none. A rank alone would wait for the others forever."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flyball.adjustments.register import Register

WAIT_SECONDS = 5.0
"""Ranks that train together come to their first step within milliseconds. A rank without Flyball never comes."""

_POLL_SECONDS = 0.01
_YES, _NO = "yes", "no"


def all_agree(
    register: Register, key: str, *, rank: int, ranks: int, agrees: bool, seconds: float = WAIT_SECONDS
) -> bool:
    """Return True on all ranks or on none: True only if each has come here and agrees."""
    if register.kind == "none":
        return False
    if agrees:
        register.decide(f"{key}/{rank}", _YES)
        agrees = _all_come(register, key, ranks, seconds)
    return register.decide(key, _YES if agrees else _NO) == _YES


def _all_come(register: Register, key: str, ranks: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    missing = set(range(ranks))
    while True:
        missing = {rank for rank in missing if not register.peek(f"{key}/{rank}")}
        if not missing:
            return True
        if register.peek(key) or time.monotonic() > deadline:
            return False  # another rank has decided, or gave up waiting
        time.sleep(_POLL_SECONDS)
