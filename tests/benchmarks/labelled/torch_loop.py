"""The same training in PyTorch, with not a line about Flyball: `flyball run -- COMMAND` makes it report.

`flyball run --name RUN -- python -m tests.benchmarks.labelled.torch_loop PLAN` trains until it is stopped.
"""

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import numpy as np
import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from tests.benchmarks.labelled.loop import TRACE, Orders, Service, obey_while, prepare, write_checkpoint
from tests.benchmarks.labelled.plan import LoopPlan
from tests.benchmarks.labelled.sources import Batch, build_source


class Batches(IterableDataset[Batch]):  # type: ignore[misc]  # torch may be missing for mypy
    """Batches without end."""

    def __init__(self, plan: LoopPlan, is_cold: Callable[[], bool]) -> None:
        self._plan = plan
        self._is_cold = is_cold

    def __iter__(self) -> Iterator[Batch]:
        worker = get_worker_info()
        rng = np.random.default_rng((self._plan.seed, worker.id if worker else 0))
        first, *others = [build_source(source, self._plan, self._is_cold) for source in self._plan.sources]
        while True:
            batch = first.load(rng)
            for source in others:
                source.load(rng)
            yield batch


def train(plan: LoopPlan, orders: Orders) -> None:
    """Train until it is stopped."""
    torch.manual_seed(plan.seed)
    torch.set_num_threads(plan.threads)
    model = torch.nn.Sequential(
        torch.nn.Linear(plan.features, plan.hidden), torch.nn.ReLU(), torch.nn.Linear(plan.hidden, 10)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    target = torch.randn(plan.batch, 10)
    loader = DataLoader(
        Batches(plan, orders.is_cold),
        batch_size=None,
        num_workers=plan.workers,
        prefetch_factor=plan.prefetch if plan.workers else None,
    )
    service = Service(plan.host, plan.service_port) if plan.service_port else None
    with Path(plan.trace).open("wb", buffering=0) as trace:
        started = time.perf_counter()
        for step, batch in enumerate(loader, start=1):
            if service is not None:
                for _ in range(orders.calls):
                    service.call()
            loss = torch.nn.functional.mse_loss(model(batch), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if orders.checkpoint_steps and step % orders.checkpoint_steps == 0:
                write_checkpoint(Path(plan.folder), plan.checkpoint_bytes)
            ended = time.perf_counter()
            trace.write(TRACE.pack(time.time(), ended - started))
            started = ended
            if orders.ended.is_set():
                break


def main() -> None:
    """Train according to the plan."""
    plan = msgspec.json.decode(sys.argv[1], type=LoopPlan)
    prepare(plan)
    obey_while(plan, train)


if __name__ == "__main__":
    main()
