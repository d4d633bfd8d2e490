"""Tries whether the data set of a loader can be read in a worker process, before the loader itself has workers.

A script without workers may have a reason: a data set that holds an open connection, a lock or tensors on a GPU fails,
or hangs, in another process. The trial reads one sample in one worker, with a time limit. The loader stays as it is.
"""

from __future__ import annotations

import warnings

from flyball.training.loaded_modules import loaded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TRIAL_SECONDS = 30.0
"""A fork and one sample take less than a second. Process groups of torch wait 10 minutes (NCCL) or 30 (gloo)."""


def workers_start(loader: Any, seconds: float = TRIAL_SECONDS) -> bool:
    """Return True if a worker has read a sample of this loader's data set in time."""
    torch = loaded("torch")
    data = loaded("torch.utils.data")
    if torch is None or data is None:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            one = {"batch_sampler": [[0]]} if loader.batch_sampler is not None else {"batch_size": None, "sampler": [0]}
            trial = data.DataLoader(
                loader.dataset,
                **one,
                num_workers=1,
                collate_fn=loader.collate_fn,
                worker_init_fn=loader.worker_init_fn,
                timeout=seconds,
                generator=torch.Generator(),  # the script's random numbers stay where they are
            )
            iterator = iter(trial)
            try:
                next(iterator)
            finally:
                del iterator  # its worker ends
    except Exception:  # noqa: BLE001  whatever it is, the loader stays without workers
        return False
    return True
