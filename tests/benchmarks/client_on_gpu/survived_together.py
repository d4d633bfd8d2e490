"""Checks on a real GPU that one of two ranks of DistributedDataParallel survives an out-of-memory, and both stay equal.

Both ranks share the GPU, so they exchange gradients through gloo.
"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from tests.benchmarks.client_on_gpu.training import StandinAgent

_WIDTH, _DEPTH, _PER_RANK, _STEPS = 2048, 6, 8192, 8
_LARGEST_DIFFERENCE = 1e-5  # of fp32 losses: other slices add in another order


def survived_together(torch: Any, agent: StandinAgent) -> Iterator[tuple[bool, str]]:
    """Rank 1 may use half of what its batch needs: it repeats its part while rank 0 waits in the exchange."""
    del torch, agent
    whole = _both(None)
    peak, fixed = whole[1]["peak"], whole[1]["fixed"]
    limited = _both(fixed + 0.5 * (peak - fixed))
    sizes = [found["sizes"] for found in limited]
    yield sizes[0] == [_PER_RANK] * _STEPS and sizes[1][-1] < _PER_RANK, f"two ranks: slices {sizes[0]} and {sizes[1]}"
    pairs = [(a, b) for x, y in zip(limited, whole, strict=True) for a, b in zip(x["losses"], y["losses"], strict=True)]
    difference = max(abs(a - b) / abs(b) for a, b in pairs)
    yield (
        difference <= _LARGEST_DIFFERENCE,
        f"two ranks: losses differ by at most {difference:.1e} from undisturbed ones",
    )
    yield limited[0]["weights"] == limited[1]["weights"], f"two ranks: equal weights {limited[0]['weights']!r}"


def _both(limit: float | None) -> list[dict[str, Any]]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    ranks = []
    for rank in range(2):
        places = {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        command = [sys.executable, "-m", __name__, str(limit if limit is not None and rank == 1 else 0)]
        ranks.append(subprocess.Popen(command, env={**os.environ, **places}, stdout=subprocess.PIPE, text=True))
    return [json.loads(rank.communicate(timeout=120)[0]) for rank in ranks]


def _train(torch: Any, limit: float) -> dict[str, Any]:
    """Train as one rank. Return losses, sizes, the sum of the weights, and the memory that was used."""
    import flyball  # noqa: PLC0415  in the process of the rank alone

    torch.distributed.init_process_group("gloo")
    rank = torch.distributed.get_rank()
    torch.manual_seed(1)
    layers = [layer for _ in range(_DEPTH) for layer in (torch.nn.Linear(_WIDTH, _WIDTH), torch.nn.GELU())]
    bare = torch.nn.Sequential(*layers, torch.nn.Linear(_WIDTH, 1)).cuda()
    model = torch.nn.parallel.DistributedDataParallel(bare)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    data = torch.randn(_PER_RANK, _WIDTH, generator=torch.Generator().manual_seed(rank)).cuda()
    losses, sizes, fixed = [], [], 0
    with flyball.run("survived-together") as run:
        batch = run.batch(per_rank=_PER_RANK, micro=_PER_RANK, normalised="samples")

        def part(piece: Any) -> Any:
            loss = (model(piece) - 1).square().sum() / _PER_RANK
            loss.backward()
            return loss

        for step in range(_STEPS):
            if step == 1 and limit:
                torch.cuda.empty_cache()
                torch.cuda.set_per_process_memory_fraction(limit / torch.cuda.get_device_properties(0).total_memory)
            losses.append(float(batch.accumulate(part, data, model=model, clear=optimizer.zero_grad)))
            optimizer.step()
            optimizer.zero_grad()
            fixed = max(fixed, torch.cuda.memory_allocated())
            run.step(samples=_PER_RANK)
            sizes.append(batch.micro)
    weights = sum(float(each.detach().double().sum()) for each in bare.parameters())
    peak = torch.cuda.max_memory_allocated()
    torch.distributed.destroy_process_group()
    return {"losses": losses, "sizes": sizes, "weights": weights, "fixed": fixed, "peak": peak}


if __name__ == "__main__":
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    print(json.dumps(_train(torch, float(sys.argv[1]))))
