"""One rank of a training with gloo, in a process of its own: `python -m … FOLDER RANK WORLD_SIZE`.

It steps until the file `end` exists. Each change that it sees after a step is a line of its log, `STEP NAME VALUE`.
"""

import json
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import torch
import torch.distributed as dist

from flyball.adjustments.process_groups import longest_wait_seconds
from flyball.adjustments.register import StoreRegister, find_register
from flyball.training.run import Run
from tests.client.adjustments.adjusting_agent import open_rank, wait_until

if TYPE_CHECKING:
    from flyball.training.protocols import Adjustable

CHOICES = (1, 2, 4, 8)
TIMEOUT_SECONDS = 80
SHORTER_SECONDS = 20
REPORT_NS = 20_000_000


def main() -> None:
    """Train until the end."""
    folder, rank, world_size = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(1)
    facts: dict[str, Any] = {"before": [find_register(world_size).kind, find_register(1).kind]}
    store = _store(folder, rank)
    dist.init_process_group(
        "gloo", store=store, rank=rank, world_size=world_size, timeout=timedelta(seconds=TIMEOUT_SECONDS)
    )
    facts["during"] = [find_register(world_size).kind, find_register(1).kind]
    facts["longest"] = [longest_wait_seconds()]
    shorter = dist.new_group(timeout=timedelta(seconds=SHORTER_SECONDS))
    facts["longest"].append(longest_wait_seconds())
    dist.destroy_process_group(shorter)
    facts["decisions"] = _decisions(folder, rank)
    (folder / f"facts-{rank}.json").write_text(json.dumps(facts))
    _train(folder, rank, world_size)
    dist.destroy_process_group()


def _store(folder: Path, rank: int) -> dist.TCPStore:
    """Return the store of the job, as torchrun makes one, on a free port."""
    file = folder / "port"
    if rank == 0:
        store = dist.TCPStore("127.0.0.1", 0, None, True, wait_for_workers=False)
        (folder / "port.new").write_text(str(store.port))
        (folder / "port.new").replace(file)
        return store
    wait_until("the store of the job is there", file.exists)
    return dist.TCPStore("127.0.0.1", int(file.read_text()), None, False)


def _decisions(folder: Path, rank: int) -> dict[str, list[str]]:
    """Return what each kind of store answers when each rank first wants another thing."""
    stores = {"tcp": _default_store(), "file": dist.FileStore(str(folder / "store"), 3), "hash": dist.HashStore()}
    found = {}
    for name, store in stores.items():
        register = StoreRegister(store)
        dist.barrier()
        first = register.decide("a/0/1", f"wish of {rank}")
        found[name] = [first, register.decide("a/0/1", "later"), register.peek("a/0/1"), register.peek("a/0/2")]
    return found


def _default_store() -> Any:
    return dist.distributed_c10d._get_default_store()


def _train(folder: Path, rank: int, world_size: int) -> None:
    run = open_rank(folder / f"{rank}.sock", rank=rank, world_size=world_size, report_ns=REPORT_NS)
    size = run.value("size", 1, choices=CHOICES, safety=2)
    with (folder / f"log-{rank}").open("w", buffering=1) as log:
        try:
            _steps(run, size, log, lambda: rank == 0 and (folder / "end").exists())
        finally:
            print(run.last_step, "end", "-", file=log)
    run.finish()


def _steps(run: Run, size: "Adjustable[int]", log: TextIO, is_over: Callable[[], bool]) -> None:
    flag, known = torch.zeros(1), size.now
    while True:
        flag[0] = float(is_over())
        dist.all_reduce(flag)
        if flag.item():
            return
        time.sleep(0.002)
        run.step()
        if size.now != known:
            known = size.now
            print(run.last_step, "size", known, file=log)
        if run.should_checkpoint(1_000_000):
            print(run.last_step, "checkpoint", "due", file=log)


if __name__ == "__main__":
    main()
