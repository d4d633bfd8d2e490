"""The training of the out-of-memory demonstration: one of two ranks of a small language model, in fp64.

    python -m examples.govern.language_model RUN LIMITED_AT STEPS      # with the variables of torchrun

At step LIMITED_AT (0: never) the memory of rank 1 is limited. It ends after STEPS steps (0: when it is asked to).
"""

import os
import resource
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import flyball
from examples.govern.trainings import Ending, emit

ROWS = 32  # of a rank in a step
LENGTH, WIDTH, VOCABULARY = 32, 32, 4096  # the logits of 32 rows take 32 MiB
TOKENS = ROWS * LENGTH
HEADROOM_BYTES = 90 * 2**20
"""Memory beyond what is in use. A slice of 32 rows needs 128 MiB: logits, their softmax, and the gradients of both."""


def build() -> nn.Module:
    """Return the same model on each rank."""
    torch.manual_seed(7)
    layers = [nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, VOCABULARY)]
    return DistributedDataParallel(nn.Sequential(*layers))


def train(name: str, limited_at: int, steps: int) -> None:
    """Train, and print each loss."""
    ending, rank = Ending(), dist.get_rank()
    model = build()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.003)
    random = torch.Generator().manual_seed(rank)

    def part(rows: torch.Tensor) -> torch.Tensor:
        logits = model(rows[:, :-1]).flatten(0, 1)
        loss = nn.functional.cross_entropy(logits, rows[:, 1:].flatten(), reduction="sum") / TOKENS
        loss.backward()
        return loss.detach()

    with flyball.run(name, policy="auto") as run:
        batch = run.batch(per_rank=ROWS, micro=ROWS, normalised="tokens")
        while not all_agree(ended=bool(ending) or run.last_step == steps > 0):
            if rank == 1 and run.last_step + 1 == limited_at:
                limit_memory()
            rows = torch.randint(VOCABULARY, (ROWS, LENGTH + 1), generator=random)
            optimizer.zero_grad(set_to_none=True)
            loss = float(batch.accumulate(part, rows, model=model, clear=optimizer.zero_grad))
            optimizer.step()
            run.step(tokens=TOKENS, loss=loss)
            emit(step=run.last_step, loss=loss, micro=batch.micro)


def all_agree(*, ended: bool) -> bool:
    """Return True on all ranks alike if one of them has ended."""
    together = torch.tensor(float(ended))
    dist.all_reduce(together)
    return bool(together > 0)


def limit_memory() -> None:
    """Limit the address space of this process to what it uses, and a little more."""
    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + HEADROOM_BYTES, resource.RLIM_INFINITY))


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    dist.init_process_group("gloo")
    train(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    sys.stdout.flush()
    os._exit(0)  # without waiting for threads of gloo, whose other end may have gone
