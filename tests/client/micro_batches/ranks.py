"""One of two gloo ranks. It trains each case and prints the losses, the weights and what happened as JSON."""

import gc
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import distributed
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

import flyball
from flyball.adjustments.restart_state import remember
from flyball.micro_batches.models import look_at
from flyball.micro_batches.reduction import reduce_gradients
from tests.client.micro_batches.tiny_training import PER_RANK, Fault, Faults, TinyLanguageModel, batches, train

STEPS = 7
FP64, FP32 = torch.float64, torch.float32


def train_case(
    name: str,
    *faults: Fault,
    dtype: Any = FP64,
    with_batch: bool = True,
    micro: int = 4,
    autocast: bool = False,
    prepare: Callable[[Any], None] | None = None,
    ddp: dict[str, Any] | None = None,
    wrap: Callable[[Any], Any] | None = None,
    explicit: bool | None = None,
    resized: int | None = None,
    run_name: str = "",
    **model_options: bool,
) -> dict[str, Any]:
    """Train one case. What is raised ends it, with its notes."""
    torch.manual_seed(3)
    rank = distributed.get_rank()
    model = TinyLanguageModel(dtype, **model_options)
    planned = Faults(faults)
    planned.watch(model.hidden)
    parallel = DistributedDataParallel(model, **(ddp or {})) if wrap is None else wrap(model)
    if prepare is not None:
        prepare(parallel)
    events: list[dict[str, Any]] = []
    with flyball.run(run_name or name, policy="off", total_steps=STEPS) as run:
        micro_batches = None
        if with_batch:
            micro_batches = run.batch(per_rank=PER_RANK, micro=micro, normalised="tokens")
            run.adjustments.note_oom = lambda **event: events.append(event)  # type: ignore[method-assign]  # recorded
        explicit_at: list[bool] = []

        def after_step() -> None:
            run.step()
            value = run.adjustments.values.get("explicit_reduction") if with_batch else None
            explicit_at.append(bool(value is not None and value.now))
            if value is not None and explicit is not None and run.last_step == 4:
                value.now = explicit
            if resized is not None and run.last_step == 4:
                run.adjustments.values["micro_batch"].change(resized)  # as an offer does it on all ranks

        answer: dict[str, Any] = {}
        try:
            data = batches(STEPS, rank, 2)
            answer["losses"] = train(
                parallel, data, micro_batches, faults=planned, world=2, autocast=autocast, after_step=after_step
            )
        except RuntimeError as error:
            answer["error"] = [type(error).__name__, *getattr(error, "__notes__", [])]
        answer |= {
            "weights": [float(each.detach().double().sum()) for each in parallel.parameters()],
            "events": events,
            "explicit": explicit_at,
            "micro": micro_batches.micro if micro_batches is not None else None,
            "blocked": run.adjustments.values["micro_batch"].blocked if with_batch else "",
        }
    return answer


Case = tuple[tuple[Fault, ...], dict[str, Any]]


def cases(rank: int) -> dict[str, Case]:
    """Return the faults and options of all cases by name. Both ranks run them in this order."""
    found = dict(_dtype_cases(rank))
    for where, piece in (("forward", 0), ("backward", 0), ("forward", -1)):
        found[f"overlapped {where} {piece}"] = _on_second(rank, Fault(5, where, piece)), {}
        found[f"overlapped with a buffer {where} {piece}"] = _on_second(rank, Fault(5, where, piece)), {"buffer": True}
    found["overlapped backward -1"] = (Fault(5, "backward", -1),), {}
    found["overlapped loss -1"] = (Fault(5, "loss", -1),), {}
    found["overlapped loss 0"] = _on_second(rank, Fault(5, "loss", 0)), {}
    found["explicit backward -1"] = _on_second(rank, Fault(5, "backward", -1)), {"explicit": True}
    found["explicit resized"] = (), {"explicit": True, "resized": 2}
    found["resized"] = _on_second(rank, Fault(5, "backward", -1)), {"resized": 2}
    failed_before = {"run_name": "overlapped backward -1"}
    found["restarted"] = _on_second(rank, Fault(5, "backward", -1)), failed_before
    views = {"gradient_as_bucket_view": True}
    found["views"] = _on_second(rank, Fault(1, "backward", -1), Fault(5, "forward", 0)), {"ddp": views}
    unused = {"unused": True, "ddp": {"find_unused_parameters": True}}
    found["unused whole"] = (), {"with_batch": False, **unused}
    found["unused"] = _on_second(rank, Fault(1, "backward", -1), Fault(5, "backward", 0)), unused
    found["hook whole"] = (), {"with_batch": False, "prepare": _compress}
    found["hook"] = _on_second(rank, Fault(5, "backward", 0)), {"prepare": _compress}
    found["static"] = (Fault(5, "forward", 0),), {"ddp": {"static_graph": True}}
    found["norm"] = (Fault(1, "forward", 0),), {"norm": True}
    found["one by one"] = _on_second(rank, Fault(1, "forward", 0, times=2)), {"micro": 8}
    found["smallest"] = (Fault(1, "forward", 0, times=9),), {}
    found["sharded"] = (Fault(1, "forward", 0),), {"wrap": fully_shard}
    found["unknown"] = (Fault(1, "forward", 0),), {"wrap": lambda model: model}
    found["remembered"] = (), {}
    return found


def _dtype_cases(rank: int) -> Iterator[tuple[str, Case]]:
    for name, dtype, autocast in (("fp64", FP64, False), ("fp32", FP32, False), ("bf16", FP32, True)):
        options = {"dtype": dtype, "autocast": autocast}
        yield f"{name} whole", ((), {**options, "with_batch": False})
        yield f"{name} slices", ((), options)
        for where in ("forward", "backward"):
            for piece in (0, -1):
                yield f"{name} trial {where} {piece} 0", (_on_second(rank, Fault(0, where, piece)), options)
                yield f"{name} trial {where} {piece} 2", ((Fault(2, where, piece),), options)


def _on_second(rank: int, *faults: Fault) -> tuple[Fault, ...]:
    """Return faults of the second rank alone."""
    return faults if rank == 1 else ()


def _compress(model: DistributedDataParallel) -> None:
    """Register the hook that sends gradients in half of their bits."""
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook  # noqa: PLC0415

    model.register_comm_hook(None, fp16_compress_hook)


def inspected() -> dict[str, Any]:
    """Return what is found out about DistributedDataParallel in several forms."""
    group = distributed.new_group([0], use_local_synchronization=True)

    def parallel(**options: Any) -> Any:
        return DistributedDataParallel(TinyLanguageModel(FP64), process_group=group, **options)

    compiled_in_place, with_builtin_hook, sparse = parallel(), parallel(), TinyLanguageModel(FP64)
    compiled_in_place.compile(backend="eager")
    with_builtin_hook._register_builtin_comm_hook(distributed.BuiltinCommHookType.FP16_COMPRESS)
    sparse.embedding = torch.nn.Embedding(4, 4, sparse=True)
    forms = {
        "usual": parallel(),
        "compiled outside": torch.compile(parallel(), backend="eager"),
        "compiled in place": compiled_in_place,
        "builtin hook": with_builtin_hook,
        "sparse": DistributedDataParallel(sparse, process_group=group),
    }
    facts = {name: look_at(model, 2) for name, model in forms.items()}
    return {name: [each.kind, each.unsupported, each.reducible] for name, each in facts.items()}


def reduced(rank: int, bucket_bytes: int) -> dict[str, Any]:
    """Return gradients after a reduction in buckets of this size: of two types, not contiguous, or not there."""
    parameters = [
        torch.nn.Parameter(torch.zeros(shape, dtype=dtype))
        for shape, dtype in (((3, 4), FP32), ((5,), FP64), ((2, 3), FP32), ((2,), FP32), ((7,), FP64))
    ]
    for index, each in enumerate(parameters[:3]):
        each.grad = torch.full_like(each, float(index + 10 * rank))
    parameters[2].grad = torch.arange(6.0).view(3, 2).t() * (rank + 1)
    if rank == 1:
        parameters[3].grad = torch.full((2,), 8.0)
    flag = reduce_gradients(parameters, None, rank == 1, bucket_bytes)
    found = [None if each.grad is None else each.grad.tolist() for each in parameters]
    return {"gradients": found, "flag": float(flag) > 0, "clean": float(reduce_gradients(parameters, None, False)) > 0}


def main(folder: Path, rank: int) -> None:
    """Train all cases."""
    torch.set_num_threads(1)
    gc.freeze()  # each failure collects garbage, and nothing of what was imported is garbage
    os.environ["RANK"], os.environ["WORLD_SIZE"] = str(rank), "2"
    distributed.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    os.environ["FLYBALL_RESTART_STATE"] = str(folder)
    if rank == 1:
        remember("1 remembered", "micro_batch", 2)
        remember("1 remembered", "explicit_reduction", True)
    answers = {name: train_case(name, *faults, **options) for name, (faults, options) in cases(rank).items()}
    answers["reduced"] = {str(size): reduced(rank, size) for size in (1, 40, 1 << 20)}
    answers["inspected"] = inspected() if rank == 0 else {}
    (folder / f"rank{rank}.json").write_text(json.dumps(answers))
    distributed.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
