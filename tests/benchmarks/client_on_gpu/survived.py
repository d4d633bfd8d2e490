"""Checks on a real GPU that a training survives out-of-memory, with the losses of an undisturbed one."""

import gc
from collections.abc import Iterator
from typing import Any

from tests.benchmarks.client_on_gpu.training import StandinAgent

_WIDTH, _DEPTH, _PER_RANK, _STEPS = 4096, 8, 8192, 6
_LARGEST_DIFFERENCE = 1e-5  # of fp32 losses: other slices add in another order


def survived(torch: Any, agent: StandinAgent) -> Iterator[tuple[bool, str]]:
    """The allocator may use less than a whole batch needs: at half, and just below the peak, which backward reaches."""
    tf32 = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    try:
        whole, sizes, fixed, peak = _train(torch, "undisturbed")
        yield (
            sizes == [_PER_RANK] * _STEPS,
            f"undisturbed: peak {peak / 1e9:.2f} GB, of which fixed {fixed / 1e9:.2f} GB",
        )
        for share in (0.5, 0.95):
            limit = fixed + share * (peak - fixed)
            yield from _limited(torch, agent, whole, limit, f"survived-{share}")
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
        torch.backends.cuda.matmul.allow_tf32 = tf32


def _limited(
    torch: Any, agent: StandinAgent, whole: list[float], limit: float, name: str
) -> Iterator[tuple[bool, str]]:
    _free(torch)
    torch.cuda.set_per_process_memory_fraction(limit / torch.cuda.get_device_properties(0).total_memory)
    losses, sizes, _, peak = _train(torch, name)
    torch.cuda.set_per_process_memory_fraction(1.0)
    difference = max(abs(a - b) / abs(b) for a, b in zip(losses, whole, strict=True))
    yield sizes[-1] < _PER_RANK, f"{name}: limit {limit / 1e9:.2f} GB, peak {peak / 1e9:.2f} GB, slices {sizes}"
    yield difference <= _LARGEST_DIFFERENCE, f"{name}: losses differ by at most {difference:.1e}"
    events = [line for line in agent.lines if line["kind"] == "oom"]
    recovered = [event for event in events if event["recovered"] and event["from"] == _PER_RANK]
    yield bool(recovered), f"{name}: reported {recovered[-1:]}"


def _train(torch: Any, name: str) -> tuple[list[float], list[int], float, float]:
    """Return the losses, the sizes of slices, the memory between two steps, and the peak."""
    import flyball  # noqa: PLC0415  after the socket is set

    _free(torch)
    torch.manual_seed(1)
    layers = [layer for _ in range(_DEPTH) for layer in (torch.nn.Linear(_WIDTH, _WIDTH), torch.nn.GELU())]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(_WIDTH, 1)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    data = torch.randn(_PER_RANK, _WIDTH, device="cuda")
    losses, sizes, fixed = [], [], 0.0
    with flyball.run(name, policy="ask") as run:
        batch = run.batch(per_rank=_PER_RANK, micro=_PER_RANK, normalised="samples")

        def part(piece: Any) -> Any:
            loss = (model(piece) - 1).square().sum() / _PER_RANK
            loss.backward()
            return loss

        torch.cuda.reset_peak_memory_stats()
        for _ in range(_STEPS):
            loss = batch.accumulate(part, data, model=model, clear=optimizer.zero_grad)
            optimizer.step()
            optimizer.zero_grad()
            run.step(samples=_PER_RANK)
            losses.append(float(loss))
            sizes.append(batch.micro)
            fixed = max(fixed, torch.cuda.memory_allocated())
    return losses, sizes, fixed, torch.cuda.max_memory_allocated()


def _free(torch: Any) -> None:
    gc.collect()
    torch.cuda.empty_cache()
