"""Trains a model twice, with and without a limit of the address space, and prints both losses as JSON."""

import gc
import json
import resource
from typing import Any

import torch

import flyball

PER_RANK, WIDTH, DEPTH = 64, 1 << 15, 4
ACTIVATIONS_BYTES = 4 * PER_RANK * WIDTH * DEPTH  # 32 MiB for a batch


def losses(steps: int = 2) -> tuple[list[float], list[int]]:
    """Return the losses, and the sizes of slices."""
    torch.manual_seed(1)
    scales = torch.nn.ParameterList([torch.ones(1) for _ in range(DEPTH)])
    optimizer = torch.optim.SGD(scales.parameters(), lr=1e-3)
    data = torch.randn(PER_RANK, 1)
    found, sizes = [], []
    with flyball.run("limited", policy="off") as run:
        batch = run.batch(per_rank=PER_RANK, micro=PER_RANK, normalised="samples")

        def part(piece: Any) -> Any:
            hidden = piece.expand(-1, WIDTH)
            for scale in scales:
                hidden = torch.tanh(hidden * scale)
            loss = hidden.mean(dim=1).square().sum() / PER_RANK
            loss.backward()
            return loss

        for _ in range(steps):
            loss = batch.accumulate(part, data, model=scales, clear=optimizer.zero_grad)
            optimizer.step()
            optimizer.zero_grad()
            run.step()
            found.append(float(loss))
            sizes.append(batch.micro)
    return found, sizes


def main() -> None:
    """Train without a limit, and with one that a whole batch exceeds."""
    torch.set_num_threads(1)
    free, _ = losses()
    gc.collect()
    with open("/proc/self/statm") as file:  # noqa: PTH123  a line of the kernel
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ACTIVATIONS_BYTES // 2, resource.RLIM_INFINITY))
    limited, sizes = losses()
    print(json.dumps({"free": free, "limited": limited, "sizes": sizes}))


if __name__ == "__main__":
    main()
