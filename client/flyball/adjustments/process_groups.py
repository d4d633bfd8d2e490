"""Limits how long a rank may wait at a boundary, so that no collective of another rank times out."""

from __future__ import annotations

from flyball.training.loaded_modules import loaded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

LONGEST_SECONDS = 120.0
"""Without process groups. Schedulers and watchdogs of other kinds have limits of minutes."""

_SHARE = 4  # ranks come to a boundary at different times, and the next step takes time too
_UNKNOWN_SECONDS = 600.0  # the default of NCCL; those of other backends are longer (torch 2.13)


def longest_wait_seconds() -> float:
    """Return a quarter of the smallest timeout of all process groups, at most `LONGEST_SECONDS`.

    A group that was created later has its own default, which may be shorter than the one of the whole job.
    """
    module = loaded("torch.distributed.distributed_c10d")
    try:
        if module is None or not module.is_initialized():
            return LONGEST_SECONDS
        found = list(_timeouts(module))
    except Exception:  # noqa: BLE001  another version of torch
        found = []
    return min(LONGEST_SECONDS, min(found, default=_UNKNOWN_SECONDS) / _SHARE)


def _timeouts(module: Any) -> Iterable[float]:
    """Yield the timeouts in seconds. PyTorch has no public function for them."""
    for group in list(module._world.pg_map):
        for device in group._device_types:
            yield group._get_backend(device).options._timeout.total_seconds()
