"""Configurations as tables."""

from collections.abc import Sequence

from flyball_planner.configurations.budget import Budget
from flyball_planner.configurations.configuration import Configuration
from flyball_planner.configurations.phases import TrainingPhase
from flyball_planner.configurations.processor_tuning import ProcessorTuning
from flyball_planner.configurations.streaming import Streaming
from flyball_reports.figures import count, duration, figure, percent, plural, rate, size, spread
from flyball_reports.section import ReportTable

ACTIVATIONS = {
    "none": "all stored",
    "selective": "partly recomputed (selective checkpointing)",
    "full": "recomputed (full checkpointing)",
}


def numbers_table(each: Configuration) -> ReportTable:
    """Return the settings for a script, and the estimates for the run."""
    model, training, what = each.model, each.training, each.expected
    rows = (
        (
            "Model",
            f"{count(model.parameters)} parameters: {model.layers} layers of {model.hidden}, {model.heads} heads",
        ),
        ("Batch", _batch(each)),
        ("Sequence", f"{training.sequence:,} tokens"),
        ("Tokens", f"{count(training.tokens)}, {training.tokens_per_parameter:.3g} per parameter"),
        ("Steps", f"{training.steps:,}, {training.warm_up_steps:,} of them warm-up"),
        ("Learning rate", f"{training.learning_rate:.2g}, falling to {training.last_learning_rate:.2g}"),
        ("Optimizer", f"{training.optimizer}, weight decay {training.weight_decay:g}"),
        ("Gradients", f"clipped at a norm of {training.gradient_clip:g}"),
        ("Precision", f"{training.precision}{', compiled' if training.compiled else ''}"),
        ("Attention", training.attention),
        ("Activations", ACTIVATIONS.get(training.checkpointing, training.checkpointing)),
        ("Sharding", "" if training.sharding == "none" else training.sharding),
        ("Checkpoint", f"every {duration(training.checkpoint_interval_seconds)}"),
        ("Loader", f"{plural(training.loader_workers, 'worker')}, {training.prefetch} batches prefetched each"),
        ("Memory", f"{spread(what.memory_bytes, size)}: {_of_ceiling(each)}"),
        ("Time", f"{what.time_human} ({duration(what.seconds.low)} … {duration(what.seconds.high)})"),
        ("Speed", f"{figure(what.tokens_per_second)} tokens per second"),
        ("Power", _power(each)),
    )
    return ReportTable(tuple(row for row in rows if row[1]))


def _batch(each: Configuration) -> str:
    training = each.training
    replicas = training.global_batch // (training.micro_batch * training.accumulation)
    words = [f"micro-batch {training.micro_batch}"]
    words += [f"{training.accumulation} accumulated"] if training.accumulation > 1 else []
    words += [f"{replicas} replicas"] if replicas > 1 else []
    return f"{' × '.join(words)} = {training.global_batch} samples"


def _power(each: Configuration) -> str:
    what, pause = each.expected, each.training.pause_seconds_per_step
    if what.power_watts is None or what.power_share is None:
        return ""
    paused = f", with pauses of {duration(pause)} after each step" if pause > 0 else ""
    return f"{what.power_watts:.0f} W on average, {percent(what.power_share)} of the nominal power{paused}"


def _of_ceiling(each: Configuration) -> str:
    what = each.expected
    return f"{percent(what.memory_share)} of the device, at most {percent(what.memory_ceiling_share)} is allowed"


def processor_table(tuned: ProcessorTuning) -> ReportTable:
    """Return the settings for a processor."""
    rows = (
        ("Processes", f"{tuned.processes}, each with {plural(tuned.threads, 'thread')}"),
        ("Command", tuned.command),
        *((name, value) for name, value in tuned.environment),
        *(("Note", note) for note in tuned.notes),
    )
    return ReportTable(rows)


def phases_table(both: Sequence[TrainingPhase]) -> ReportTable:
    """Return phases A and B."""
    rows = tuple(
        (
            each.name,
            each.purpose,
            f"{each.sequence:,}",
            f"{each.samples_a_step:,}",
            count(each.tokens),
            f"{each.steps:,}",
        )
        for each in both
    )
    return ReportTable(rows, ("Phase", "Purpose", "Sequence", "Samples per step", "Tokens", "Steps"), (2, 3, 4, 5))


def budgets_table(afforded: Sequence[Budget]) -> ReportTable:
    """Return the token budgets of the machine."""
    rows = tuple((duration(each.seconds), count(each.parameters), count(each.tokens)) for each in afforded)
    return ReportTable(rows, ("Training time", "Parameters", "Tokens, 20 per parameter"), (1, 2))


def streaming_table(read: Streaming) -> ReportTable:
    """Return the settings for reading the data."""
    rows = (
        ("Disk", read.disk.value),
        (
            "Read rate",
            f"{rate(read.needed_bytes_per_second, 'B/s')}, {percent(read.held_share)} of the disk's rate, with reserve",
        ),
        ("Readers", f"{plural(read.workers, 'worker')}, {read.prefetch} batches prefetched each"),
        ("Shards", size(read.shard_bytes)),
        ("Cache", size(read.cache_bytes)),
    )
    return ReportTable(rows)
