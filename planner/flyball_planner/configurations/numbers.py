"""The numbers of a chosen candidate for a training script, and its specification."""

from flyball_planner.catalogue.hardware import TrainingMachine
from flyball_planner.configurations.bounds import Bounds
from flyball_planner.configurations.candidates import Candidate
from flyball_planner.configurations.configuration import Expected, ModelNumbers, TrainingNumbers
from flyball_planner.configurations.device_tuning import Tuning
from flyball_planner.configurations.power import DutyCycle
from flyball_planner.configurations.recipe import (
    GRADIENT_CLIP,
    LAST_SHARE,
    WEIGHT_DECAY,
    checkpoint_interval,
    learning_rate,
    warm_up_steps,
)
from flyball_planner.configurations.streaming import WORKER_TOKENS_PER_SECOND
from flyball_planner.interval import Interval
from flyball_planner.memory.checkpoint_size import checkpoint_bytes
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.timing.training_run import CHECKPOINT_BYTES_PER_SECOND, DEVICE_FAILURES_AN_HOUR
from flyball_reports.figures import duration

LONGEST_BETWEEN_CHECKPOINTS = 1800.0  # a crash costs at most half an hour
PREFETCH = 2  # batches per worker; torch's default


def model_numbers(chosen: Candidate) -> ModelNumbers:
    """Return the transformer's dimensions."""
    shape = chosen.shape
    return ModelNumbers(shape.layers, shape.hidden, shape.heads, shape.ffn, shape.vocab, chosen.parameters)


def training_numbers(
    machine: TrainingMachine, tuned: Tuning, chosen: Candidate, paced: DutyCycle, tokens: float
) -> TrainingNumbers:
    """Return all settings for a training script."""
    steps = max(1, round(tokens / chosen.tokens_per_step))
    rate = learning_rate(chosen.parameters)
    speed = chosen.tokens_per_step / chosen.step.middle
    return TrainingNumbers(
        sequence=chosen.training.sequence,
        micro_batch=chosen.layout.micro_batch,
        accumulation=max(1, chosen.training.global_batch // (chosen.layout.data * chosen.layout.micro_batch)),
        global_batch=chosen.training.global_batch,
        tokens=steps * chosen.tokens_per_step,
        tokens_per_parameter=tokens / chosen.parameters,
        steps=steps,
        warm_up_steps=warm_up_steps(steps, chosen.tokens_per_step),
        optimizer=chosen.training.optimizer.name,
        learning_rate=rate,
        last_learning_rate=LAST_SHARE * rate,
        weight_decay=WEIGHT_DECAY,
        gradient_clip=GRADIENT_CLIP,
        precision=chosen.training.precision.name,
        attention=tuned.attention,
        compiled=chosen.training.compiled,
        checkpointing=chosen.layout.checkpointing.value,
        sharding=chosen.layout.sharding.value,
        checkpoint_interval_seconds=_between_checkpoints(machine, chosen),
        pause_seconds_per_step=paced.pause(chosen.step.middle),
        loader_workers=max(1, min(8, round(2 * speed / machine.nodes / WORKER_TOKENS_PER_SECOND))),
        prefetch=PREFETCH,
    )


def expected(
    bounds: Bounds, machine: TrainingMachine, chosen: Candidate, paced: DutyCycle, seconds: Interval
) -> Expected:
    """Return the estimates for the run."""
    return Expected(
        memory_bytes=chosen.memory,
        memory_share=chosen.memory.middle / machine.device.memory_bytes,
        memory_ceiling_share=bounds.memory_share,
        seconds=seconds,
        time_human=duration(seconds.middle),
        tokens_per_second=chosen.tokens_per_step / chosen.step.middle * paced.computing_share,
        power_watts=paced.watts,
        power_share=paced.power_share,
    )


def specification_text(name: str, machine: TrainingMachine, chosen: Candidate, tokens: float) -> str:
    """Return a specification in YAML for `flyball plan`."""
    training, layout = chosen.training, chosen.layout
    steps = max(1, round(tokens / chosen.tokens_per_step))
    nodes = f"\n  devices_per_node: {machine.devices_a_node}" if machine.nodes > 1 else ""
    many = f"{machine.devices} × " if machine.devices > 1 else ""
    return f"""title: {name} on {many}{machine.device.name}
model:
  name: {name}
  shape: {_shape_text(chosen.shape)}
training:
  sequence: {training.sequence}
  batch_size: {training.global_batch}
  steps: {steps}
  optimizer: {training.optimizer.name}
  precision: {training.precision.name}
  attention: {training.attention.value}
  compiled: {str(training.compiled).lower()}
hardware:
  device: "{machine.device.name}"
  devices: {machine.devices}{nodes}
layout:
  micro_batch: {layout.micro_batch}
  sharding: {layout.sharding.value}
  checkpointing: {layout.checkpointing.value}
"""


def with_hardware_file(specification: str, file: str) -> str:
    """Return a specification that names the file with its device, so that it can be planned as it is."""
    return (
        specification.replace("\nhardware:\n", f'\nhardware:\n  hardware_file: "{file}"\n', 1)
        if file
        else specification
    )


def _shape_text(shape: TransformerShape) -> str:
    named = {
        "layers": shape.layers,
        "hidden": shape.hidden,
        "heads": shape.heads,
        "ffn": shape.ffn,
        "vocab": shape.vocab,
        "norm": shape.norm.value,
    }
    flags = ("gated", "tied", "norm_bias", "qkv_bias", "attention_output_bias", "ffn_bias", "dropout")
    words = [f"{name}: {value}" for name, value in named.items()]
    words += [f"{name}: {str(getattr(shape, name)).lower()}" for name in flags]
    return "{" + ", ".join(words) + "}"


def _between_checkpoints(machine: TrainingMachine, chosen: Candidate) -> float:
    """Return Young's interval for the failure rate of large clusters, limited to an acceptable loss."""
    write = checkpoint_bytes(chosen.shape, chosen.training) / (machine.nodes * CHECKPOINT_BYTES_PER_SECOND)
    between_failures = 3600 / (DEVICE_FAILURES_AN_HOUR * machine.devices)
    return min(LONGEST_BETWEEN_CHECKPOINTS, checkpoint_interval(write, between_failures))
