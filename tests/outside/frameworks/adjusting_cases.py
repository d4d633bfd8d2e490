"""Trainings with Trainer that are adjusted: `adjusting_cases.py FOLDER PORT`. Prints what it saw, as JSON.

Values are changed directly, as the protocol does after all ranks have decided. Importing the package takes seconds, so
all cases share a process.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from accelerate.state import AcceleratorState, GradientState, PartialState
from transformers import Trainer

import flyball

sys.path[0] = str(Path(__file__).parents[3])  # not this folder: a module in it must not hide a package

from tests.client.adjustments.adjusting_agent import AdjustingAgent, open_rank  # noqa: E402
from tests.outside.frameworks.adjusting_parts import (  # noqa: E402
    BATCH,
    FOLDER,
    STEPS,
    Failing,
    Patched,
    Plain,
    Strict,
    WithEmbedding,
    collate_with_patches,
    collate_without_first_labels,
    figures,
    gpt2,
    largest_difference,
    sizes_of,
    trainer,
    undisturbed,
)


def change(run: flyball.Run, name: str, to: object) -> None:
    """Change a value between two steps, as after a decision. A reason against it is raised."""
    value = run.adjustments.values[name]
    if reason := value.objection(to):
        raise AssertionError(reason)
    value.change(to)


def planned(find_run: Callable[[], flyball.Run], name: str, plan: dict[int, Any]) -> Callable[[int], None]:
    """Return what changes a value after some steps."""

    def after_step(step: int) -> None:
        if step in plan:
            change(find_run(), name, plan[step])

    return after_step


def untouched() -> object:
    """Nothing is asked: the model gets whole batches, and the figures have the same bits."""
    one = trainer()
    sizes = sizes_of(one)
    flyball.attach(one, run="untouched")
    one.train()
    return [figures(one) == undisturbed(), sorted(set(sizes))]


def looked_at() -> object:
    """Adjustments are allowed and nothing is changed, with dropout: random numbers stay where they are."""
    one = trainer(make=lambda: gpt2(dropout=0.2))
    sizes = sizes_of(one)
    assert flyball.attach(one, run="looked-at").adjustments
    one.train()
    return [figures(one) == undisturbed(make=lambda: gpt2(dropout=0.2)), sizes[:3]]


def sliced() -> object:
    """From whole batches to slices of two after the second step, and to four after the fourth."""
    one = trainer(planned(lambda: run, "micro_batch", {2: 2, 4: 4}))
    run = flyball.attach(one, run="sliced", policy="auto")
    assert run.adjustments
    sizes = sizes_of(one)
    one.train()
    return {
        "difference": largest_difference(figures(one), undisturbed()),
        "sizes": sizes,
        "left": sorted(set(run.adjustments.values) - {"throttle", "pause", "checkpoint_now"}),
        "last_loss": one.state.log_history[-2]["loss"],
    }


def out_of_memory() -> object:
    """Memory runs out in the forward or backward pass of the first or second batch of a step."""
    expected = undisturbed()
    found = {}
    for where in ("forward", "backward"):
        for name, first_call in (("first", 4), ("second", 5)):
            one = trainer()
            failing = Failing(2, first_call=first_call, in_backward=where == "backward")
            failing.watch(one.model)
            run = flyball.attach(one, run=f"oom-{where}-{name}")
            one.train()
            difference = largest_difference(figures(one), expected)
            found[f"{where} {name}"] = [difference, failing.failures, run.last_step, failing.are_released]
    return found


def out_of_memory_at_the_end() -> object:
    """Memory runs out in the second batch of the last step. Return the loss that Trainer logs for it."""
    one = trainer()
    Failing(2, first_call=11).watch(one.model)
    flyball.attach(one, run="oom-end")
    one.train()
    return figures(one)[-1][0]


def not_recovered() -> object:
    """Memory runs out for a single sample, with a mean of each batch, and with policy off: the error is raised."""
    found = {}
    for name, most, make, policy in (
        ("smallest", 0, gpt2, "ask"),
        ("mean", 2, WithEmbedding, "ask"),
        ("off", 2, gpt2, "off"),
    ):
        one = trainer(make=make)
        Failing(most).watch(one.model)
        flyball.attach(one, run=f"lost-{name}", policy=policy)
        try:
            one.train()
        except torch.OutOfMemoryError as error:
            found[name] = [str(error)[:18], *getattr(error, "__notes__", [])]
    return found


def reasons() -> object:
    """Return why each of these trainings cannot be sliced, after its second step."""

    class OwnLoss(Trainer):
        """A trainer with a loss of its own, on one rank."""

        def compute_loss(self, *values: Any, **named: Any) -> Any:
            return super().compute_loss(*values, **named)

    trials: dict[str, dict[str, Any]] = {
        "good": {},
        "own loss on one rank": {"kind": OwnLoss},
        "ignores the number": {"make": Plain},
        "takes no number": {"make": Strict},
        "batch norm": {"make": lambda: Plain(norm=True)},
        "no labels": {"collate": collate_without_first_labels},
        "patches": {"collate": collate_with_patches, "make": Patched},
    }
    return {name: reason_after_two_steps(**more) for name, more in trials.items()}


def reason_after_two_steps(**more: Any) -> str:
    """Train two steps, and return why the batch cannot be sliced then."""
    seen: list[str] = []
    one = trainer(lambda _: seen.append(run.adjustments.values["micro_batch"].blocked), steps=2, **more)
    run = flyball.attach(one, run="reasons")
    assert run.adjustments
    one.train()
    return seen[-1]


def checkpointing() -> object:
    """Activation checkpointing on after the second step, and off after the fourth."""
    one = trainer(planned(lambda: run, "activation_checkpointing", {2: True, 4: False}))
    run = flyball.attach(one, run="checkpointing")
    assert run.adjustments
    active: list[bool] = []
    one.model.register_forward_pre_hook(
        lambda model, _: active.append(any(getattr(each, "gradient_checkpointing", False) for each in model.modules()))
    )
    one.train()
    in_steps = active[-2 * STEPS :: 2]
    return {"difference": largest_difference(figures(one), undisturbed()), "active": in_steps}


def checkpoints() -> object:
    """The interval goes from five steps to three after the first step, and one more checkpoint is asked for."""

    def after_step(step: int) -> None:
        if step == 1:
            change(run, "checkpoint_steps", 3)
        if step == 4:
            change(run, "checkpoint_now", to=True)
            costs.append(run.adjustments.values["checkpoint_steps"].facts.get("cost_seconds"))

    costs: list[str | None] = []

    one = trainer(after_step, save_strategy="steps", save_steps=5, output_dir=str(FOLDER / "checkpoints"))
    run = flyball.attach(one, run="checkpoints")
    assert run.adjustments
    one.train()
    return [sorted(path.name for path in (FOLDER / "checkpoints").iterdir()), costs]


def over_the_socket() -> object:
    """An agent allows adjustments, offers slices of two after the second step, and commits after the third."""
    agent = AdjustingAgent(FOLDER / "adjusting.sock")
    run = open_rank(FOLDER / "adjusting.sock")  # reports at each step
    agent.socket.accept()
    offers: list[str] = []

    def after_step(step: int) -> None:
        if step == 1:
            agent.allow()
        if step == 2:
            offers.append(agent.offer("micro_batch", 8, 2, at=4))
        if step == 3:
            agent.commit(offers[0])

    one = trainer(after_step)
    flyball.attach(one, run=run)
    sizes = sizes_of(one)
    one.train()
    answers = [[line["kind"], line["step"], line.get("observed")] for line in agent.answers(offers[0])]
    run.finish()
    agent.close()
    return {"answers": answers, "sizes": sizes, "difference": largest_difference(figures(one), undisturbed())}


def workers() -> object:
    """The loader gets a worker at the second epoch. The order of samples stays."""
    processes: list[int] = []

    def after_step(step: int) -> None:
        loader = one.callback_handler.train_dataloader.base_dataloader
        processes.append(loader.num_workers)
        if step == 1:
            change(run, "loader_workers", 1)

    options: dict[str, Any] = {"gradient_accumulation_steps": 1, "count": 16}
    one = trainer(after_step, **options)
    run = flyball.attach(one, run="workers")
    assert run.adjustments
    one.train()
    return {"equal": figures(one) == undisturbed(**options), "workers": processes}


def two_ranks() -> object:
    """Two forked ranks with DistributedDataParallel. Return what each has seen."""
    os.environ |= {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": sys.argv[2]}
    child = os.fork()
    rank = 0 if child else 1
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank)}
    cases = (ranks_undisturbed, ranks_sliced, ranks_out_of_memory, ranks_checkpointing)
    answer = {case.__name__: case(rank) for case in cases}
    if not child:
        (FOLDER / "rank1.json").write_text(json.dumps(answer))
        torch.distributed.barrier()
        os._exit(0)
    torch.distributed.barrier()
    os.waitpid(child, 0)
    torch.distributed.destroy_process_group()
    for name in ("WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "RANK", "LOCAL_RANK"):
        del os.environ[name]
    for state in (AcceleratorState, GradientState, PartialState):
        state._reset_state()
    return [answer, json.loads((FOLDER / "rank1.json").read_text())]


def ranks_undisturbed(rank: int) -> object:  # noqa: ARG001  as the other cases
    """Return the figures without Flyball, for one and for two batches in a step."""
    return [undisturbed(gradient_accumulation_steps=batches, ddp_backend="gloo") for batches in (1, 2)]


def ranks_sliced(rank: int) -> object:  # noqa: ARG001  as the other cases
    """Both ranks make the same changes at the same steps."""
    one = trainer(planned(lambda: run, "micro_batch", {2: 2, 4: 8}), ddp_backend="gloo")
    run = flyball.attach(one, run="ranks-sliced")
    assert run.adjustments
    sizes = sizes_of(one)
    one.train()
    return {"figures": figures(one), "sizes": sizes}


def ranks_out_of_memory(rank: int) -> object:
    """Memory runs out on the second rank alone, in the backward pass of the third step. The policy is auto."""
    one = trainer(ddp_backend="gloo", gradient_accumulation_steps=1)
    failing = Failing(4 if rank else BATCH, first_call=2, in_backward=True)
    failing.watch(one.model)
    flyball.attach(one, run="ranks-oom", policy="auto")
    one.train()
    return {"figures": figures(one), "failures": failing.failures}


def ranks_checkpointing(rank: int) -> object:  # noqa: ARG001  as the other cases
    """Activation checkpointing on after the second step, and off after the fourth."""
    plan = {2: True, 4: False}
    one = trainer(planned(lambda: run, "activation_checkpointing", plan), ddp_backend="gloo")
    run = flyball.attach(one, run="ranks-checkpointing")
    assert run.adjustments
    one.train()
    return figures(one)


CASES: tuple[Callable[[], object], ...] = (
    two_ranks,  # first: PyTorch refuses to fork after a backward pass
    untouched,
    looked_at,
    sliced,
    out_of_memory_at_the_end,
    out_of_memory,
    not_recovered,
    reasons,
    checkpointing,
    checkpoints,
    over_the_socket,
    workers,
)

if __name__ == "__main__":
    names = sys.argv[3:]
    seen = {case.__name__: case() for case in CASES if not names or case.__name__ in names}
    print(json.dumps(seen))
