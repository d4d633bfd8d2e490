"""Notes that several frameworks share: settings that their files cannot express, with the value and where it goes."""

from collections.abc import Iterator

from flyball_planner.emit.emission import Emission
from flyball_planner.emit.emitted_run import EmittedRun
from flyball_planner.training import Offload
from flyball_reports.figures import duration, percent, plural


def obstacle(framework: str, run: EmittedRun, expressed: frozenset[str]) -> str:
    """Return why the framework cannot distribute the run like this, or nothing.

    Ranks that share a layer, a stage or a sequence would each train on samples of their own without such a group, so
    a file without it would multiply the global batch.
    """
    layout = run.layout
    degrees = {
        "tensor": (layout.tensor, f"{layout.tensor} ranks share each layer"),
        "pipeline": (layout.pipeline, f"it has {layout.pipeline} stages"),
        "context": (layout.context, f"{layout.context} ranks share each sequence"),
    }
    missing = [(name, planned) for name, (degree, planned) in degrees.items() if degree > 1 and name not in expressed]
    if not missing:
        return ""
    names, planned = " and ".join(name for name, _ in missing), ", ".join(planned for _, planned in missing)
    keys = ", ".join(f"{name}: 1" for name, _ in missing)
    return (
        f"{framework} has no {names} parallelism, which the plan needs ({planned}), so no file is written; "
        f"plan with layout: {{{keys}}}, or use another framework"
    )


def without_file(framework: str, reason: str) -> Emission:
    """Return an emission of nothing but the reason."""
    return Emission(framework, (), "", (reason,))


def expert_note(framework: str, run: EmittedRun) -> Iterator[str]:
    """Yield a note on experts that are distributed over ranks, which does not change the batch."""
    if run.layout.expert > 1:
        yield (
            f"{framework} has no expert parallelism in this file: the plan distributes the experts over "
            f"{run.layout.expert} ranks, which your script must set up"
        )


def method_notes(framework: str, run: EmittedRun) -> Iterator[str]:
    """Yield notes on adapters, offloading of activations and pauses."""
    if run.adapter:
        yield f"{framework} has no adapters in this file: the plan has {run.adapter}; add them to the model with peft"
    if run.layout.offload is Offload.ACTIVATIONS:
        yield (
            f"{framework} has no offloading of activations in this file: wrap the forward pass in "
            "torch.autograd.graph.save_on_cpu(pin_memory=True)"
        )
    if run.pause_seconds > 0:
        yield (
            f"{framework} has no pauses: sleep {duration(run.pause_seconds)} ({run.pause_seconds:.3g} s) after each "
            "optimizer step, or limit the device's power, to keep its mean power as planned"
        )


def sequence_note(framework: str, run: EmittedRun) -> Iterator[str]:
    """Yield a note on the sequence length, which belongs to the data."""
    if run.sequence:
        yield f"{framework} has no sequence length in this file: pack your samples to {run.sequence:,} tokens"


def checkpoint_note(framework: str, run: EmittedRun, call: str) -> Iterator[str]:
    """Yield a note on checkpoints where the file cannot ask for them."""
    yield f"{framework} writes no checkpoints by this file: call {call} {checkpoint_words(run)}"


def checkpoint_words(run: EmittedRun) -> str:
    """Return how often a checkpoint is written, in steps and in time."""
    every = plural(run.checkpoint_steps, "step")
    return f"every {every} ({duration(run.checkpoint_steps * run.step_seconds)})"


def workers_note(framework: str, run: EmittedRun) -> Iterator[str]:
    """Yield a note if the plan does not contain the workers of the data loader."""
    if run.workers is None:
        yield f"the workers of the data loader are not part of the plan: {framework} uses its default"


def schedule_words(run: EmittedRun) -> str:
    """Return the optimizer and the learning rate in words."""
    schedule = run.schedule
    return (
        f"{schedule.optimizer} with a learning rate of {schedule.learning_rate:.3g} ({schedule.learning_rate_source}), "
        f"{plural(schedule.warm_up_steps, 'step')} of warm-up, then a cosine down to {percent(schedule.last_share)} of "
        f"it, weight decay {schedule.weight_decay:g}, gradients clipped at a norm of {schedule.gradient_clip:g}"
    )
