"""Averages gradients over ranks after the last slice, in buckets, with a flag beside them."""

from __future__ import annotations

from flyball.training.loaded_modules import loaded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

BUCKET_BYTES = 25 * 1024 * 1024
"""The size of a bucket of DistributedDataParallel (bucket_cap_mb in PyTorch 2.13). No more memory is needed."""


def reduce_gradients(parameters: Sequence[Any], group: Any, flag: bool, bucket_bytes: int = BUCKET_BYTES) -> Any:
    """Replace each gradient by its mean over the ranks. Return a tensor that is positive if any rank has set the flag.

    As in DistributedDataParallel, gradients are divided first and then added. A parameter that no rank has used keeps
    no gradient; one that only other ranks have used gets theirs.
    """
    torch, distributed = loaded("torch"), loaded("torch.distributed")
    assert torch is not None  # noqa: S101  there are parameters
    assert distributed is not None  # noqa: S101  there is a process group
    size = distributed.get_world_size(group)
    unused = [index for index, each in enumerate(parameters) if each.grad is None]
    buckets = _buckets(parameters, bucket_bytes)
    with_flags = min(buckets, key=lambda bucket: sum(each.numel() for each in bucket))
    flags = [float(flag), *[float(each.grad is not None) for each in parameters]]
    found: Any = None
    with torch.no_grad():
        for index in unused:
            parameters[index].grad = torch.zeros_like(parameters[index])
        for bucket in buckets:
            extra = flags if bucket is with_flags else []
            reduced = _reduce([each.grad for each in bucket], extra, size, group, torch, distributed)
            found = reduced if bucket is with_flags else found
        if unused:
            used = found.tolist()
            for index in unused:
                if not used[1 + index]:
                    parameters[index].grad = None
    return found[0]


def _reduce(gradients: list[Any], extra: list[float], size: int, group: Any, torch: Any, distributed: Any) -> Any:
    """Average the gradients of a bucket. Return the sums of the extra elements, divided by the number of ranks."""
    first = gradients[0]
    if len(gradients) == 1 and not extra and first.is_contiguous():
        first.div_(size)
        distributed.all_reduce(first, group=group)
        return None
    beside = torch.tensor(extra, dtype=first.dtype, device=first.device)
    flat = torch.cat([*[each.reshape(-1) for each in gradients], beside])
    flat.div_(size)
    distributed.all_reduce(flat, group=group)
    start = 0
    for each in gradients:
        each.copy_(flat[start : start + each.numel()].view(each.shape))
        start += each.numel()
    return flat[start:].clone()


def _buckets(parameters: Sequence[Any], bucket_bytes: int) -> list[list[Any]]:
    """Return the parameters in buckets of one type and device, the same on all ranks."""
    open_buckets: dict[tuple[Any, Any], tuple[list[Any], int]] = {}
    found: list[list[Any]] = []
    for each in parameters:
        key, taken = (each.dtype, each.device), each.numel() * each.element_size()
        bucket, used = open_buckets.get(key, ([], 0))
        if not bucket or used + taken > bucket_bytes:
            bucket, used = [], 0
            found.append(bucket)
        bucket.append(each)
        open_buckets[key] = (bucket, used + taken)
    return found
