"""The frameworks whose configurations can be written, and the page that explains the written files."""

from collections.abc import Callable, Mapping, Sequence

from flyball_planner.emit.accelerate_file import accelerate_file
from flyball_planner.emit.deepspeed_file import deepspeed_file
from flyball_planner.emit.emission import Emission
from flyball_planner.emit.emitted_run import EmittedRun
from flyball_planner.emit.lightning_file import lightning_file
from flyball_planner.emit.shared_notes import checkpoint_words, schedule_words
from flyball_planner.emit.torchrun_command import torchrun_command
from flyball_planner.emit.torchtitan_file import torchtitan_file
from flyball_planner.emit.transformers_arguments import transformers_arguments

EMITTERS: Mapping[str, Callable[[EmittedRun], Emission]] = {
    "transformers": transformers_arguments,
    "accelerate": accelerate_file,
    "deepspeed": deepspeed_file,
    "torchtitan": torchtitan_file,
    "lightning": lightning_file,
    "torchrun": torchrun_command,
}
PAGE = "README.md"


def emit(run: EmittedRun, frameworks: Sequence[str] = tuple(EMITTERS)) -> tuple[Emission, ...]:
    """Return the configurations of a run for some frameworks, by default all."""
    return tuple(EMITTERS[name](run) for name in frameworks)


def texts(run: EmittedRun, emissions: Sequence[Emission]) -> dict[str, str]:
    """Return all files by name, with a page that lists the commands and what each framework cannot express."""
    files = {file.name: file.text for each in emissions for file in each.files}
    return {**files, PAGE: _page(run, emissions)}


def _page(run: EmittedRun, emissions: Sequence[Emission]) -> str:
    layout = run.layout
    replicas = f" × {layout.data} replicas" if layout.data > 1 else ""
    batch = f"micro-batch {layout.micro_batch} × {run.accumulation} accumulated{replicas} = {run.global_batch} samples"
    lines = [
        f"# {run.title}",
        "",
        f"Written by Flyball from a plan: {run.model}, {run.machine.devices} × {run.machine.device.name}.",
        "",
        f"- Batch: {batch}",
        *([f"- Sequence: {run.sequence:,} tokens"] if run.sequence else []),
        f"- Steps: {run.steps:,}, with a checkpoint {checkpoint_words(run)}",
        f"- Schedule: {schedule_words(run)}",
    ]
    for each in emissions:
        names = ", ".join(f"`{file.name}`" for file in each.files) or "no file"
        lines += ["", f"## {each.framework}: {names}"]
        lines += ["", "```", each.command, "```"] if each.command else []
        lines += ["", *(f"- {note}." for note in each.notes)] if each.notes else []
    return "\n".join(lines) + "\n"
