"""A script that starts any training program with torchrun and the settings of a run as arguments."""

import shlex
from collections.abc import Iterator

from flyball_planner.catalogue.hardware import DeviceKind
from flyball_planner.emit.emission import Emission, EmittedFile
from flyball_planner.emit.emitted_run import EmittedRun
from flyball_planner.emit.file_texts import comment_lines
from flyball_planner.emit.shared_notes import method_notes, schedule_words, without_file

FILE = "torchrun.sh"
NAME = "torchrun"
PORT = 29500  # torch's default


def torchrun_command(run: EmittedRun) -> Emission:
    """Return a script; its arguments replace the settings, for programs that read a configuration file instead."""
    if run.kind is DeviceKind.TPU:
        name = run.machine.device.name
        return without_file(
            NAME, f"{NAME} does not start processes for {name}: use torch_xla's launcher; no file is written"
        )
    notes = tuple(_notes(run))
    head = (
        f"{run.title}: one process per device. SCRIPT names the program (train.py).",
        "Without arguments, the program gets the settings below; with arguments, only these.",
        f"Schedule: {schedule_words(run)}.",
        *(
            ("Start it on each node, with HEAD_NODE set to the name of the first one.",)
            if run.machine.nodes > 1
            else ()
        ),
    )
    settings = " \\\n    ".join(f"--{name} {shlex.quote(value)}" for name, value in _settings(run))
    lines = [
        "#!/usr/bin/env bash",
        *comment_lines((*head, *notes)),
        "set -euo pipefail",
        *(f"export {name}={shlex.quote(value)}" for name, value in run.environment),
        'if [ "$#" -eq 0 ]; then',
        f"  set -- \\\n    {settings}",
        "fi",
        f'exec torchrun {launch(run)} "${{SCRIPT:-train.py}}" "$@"',
    ]
    return Emission(NAME, (EmittedFile(FILE, "\n".join(lines) + "\n"),), f"bash {FILE}", notes)


def launch(run: EmittedRun) -> str:
    """Return the options of torchrun."""
    processes = f"--nproc-per-node {run.devices_a_node}"
    if run.machine.nodes == 1:
        return f"--standalone {processes}"
    endpoint = f'"${{HEAD_NODE:?set it to the name of the first node}}:{PORT}"'
    rendezvous = f"--rdzv-backend c10d --rdzv-endpoint {endpoint} --rdzv-id flyball"
    return f"--nnodes {run.machine.nodes} {processes} {rendezvous}"


def _settings(run: EmittedRun) -> Iterator[tuple[str, str]]:
    layout, schedule = run.layout, run.schedule
    named: dict[str, object] = {
        "micro-batch": layout.micro_batch,
        "accumulation": run.accumulation,
        "global-batch": run.global_batch,
        "sequence": run.sequence,
        "steps": run.steps,
        "optimizer": schedule.optimizer,
        "learning-rate": f"{schedule.learning_rate:.6g}",
        "last-learning-rate": f"{schedule.last_learning_rate:.6g}",
        "warm-up-steps": schedule.warm_up_steps,
        "weight-decay": f"{schedule.weight_decay:g}",
        "gradient-clip": f"{schedule.gradient_clip:g}",
        "precision": run.precision.name,
        "sharding": layout.sharding.value,
        "tensor": layout.tensor,
        "sequence-parallel": "true" if layout.sequence_parallel else None,
        "pipeline": layout.pipeline,
        "interleave": layout.interleave if layout.interleave > 1 else None,
        "bidirectional": "true" if layout.bidirectional else None,
        "context": layout.context,
        "expert": layout.expert if layout.expert > 1 else None,
        "checkpointing": layout.checkpointing.value,
        "offload": layout.offload.value,
        "compile": str(run.compiled).lower(),
        "checkpoint-steps": run.checkpoint_steps,
        "workers": run.workers,
    }
    for name, value in named.items():
        if value is not None:
            yield name, str(value)


def _notes(run: EmittedRun) -> Iterator[str]:
    yield f"{NAME} only starts processes: your program reads the settings, and sets up sharding and parallelism"
    if run.workers is None:
        yield "the workers of the data loader are not part of the plan"
    if run.layout.shard_group and run.shard_ranks < run.layout.data:
        yield f"{NAME} passes no groups: {run.shard_ranks} ranks each share the states"
    yield from method_notes(NAME, run)
