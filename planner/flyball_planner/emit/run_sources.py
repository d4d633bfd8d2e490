"""Sources of emitted runs: a plan with its specification, or one of the three configurations for a machine."""

from msgspec.structs import replace

from flyball_planner.catalogue.hardware import TrainingMachine
from flyball_planner.configurations.configuration import Configuration
from flyball_planner.configurations.recipe import (
    GRADIENT_CLIP,
    LAST_SHARE,
    WEIGHT_DECAY,
    checkpoint_interval,
    warm_up_steps,
)
from flyball_planner.emit.emitted_run import EmittedRun, LearningSchedule
from flyball_planner.layouts.layout import ParallelLayout
from flyball_planner.memory.checkpoint_size import checkpoint_bytes
from flyball_planner.models.any_configuration import known_names
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.plan.plan import LayoutSection, Plan
from flyball_planner.plan.subject import Subject
from flyball_planner.precision import PRECISIONS
from flyball_planner.specification.specification import Specification
from flyball_planner.timing.training_run import CHECKPOINT_BYTES_PER_SECOND, DEVICE_FAILURES_AN_HOUR
from flyball_planner.training import Checkpointing, Method, Offload, Sharding, Training
from flyball_reports.errors import InputError

BETAS = (0.9, 0.95)  # of GPT-3 (Brown et al., 2020, appendix B), as the rest of the recipe for language models
USUAL_BETAS, USUAL_DECAY = (0.9, 0.999), 0.01  # torch's defaults of AdamW, for other models
SGD_DECAY = 1e-4  # for images (Goyal et al., 2017)
LONGEST_BETWEEN_CHECKPOINTS = 1800.0  # a crash that is nobody's hardware costs at most half an hour
MOST_FOR_CHECKPOINTS = 0.01  # of the time, unless failures of devices need more


def run_of_plan(specification: Specification, plan: Plan) -> EmittedRun:
    """Return the run of a plan in its layout; raises `InputError` for models that are not trained in steps."""
    subject, training = specification.subject, specification.training
    rate = plan.training.learning_rate
    if rate is None:
        raise InputError(
            f"{plan.model.name} is not trained in optimizer steps; no framework has a configuration for it"
        )
    machine, loading = specification.machine, specification.loading
    step_seconds = plan.computation.step_seconds.middle
    return EmittedRun(
        title=plan.title,
        model=plan.model.name,
        parameters=plan.model.parameters,
        shape=subject if isinstance(subject, TransformerShape) else None,
        machine=machine,
        layout=_layout(plan.layout, machine, specification.layout),
        accumulation=plan.layout.accumulation,
        global_batch=plan.training.global_batch,
        sequence=plan.training.sequence if plan.training.sequence > 1 else None,
        steps=plan.training.steps,
        schedule=_schedule(subject, training, plan, rate),
        precision=training.precision,
        compiled=training.compiled,
        checkpoint_steps=_steps(_between_checkpoints(subject, training, machine), step_seconds, plan.training.steps),
        step_seconds=step_seconds,
        framework=training.framework,
        adapter=_adapter(training),
        published=plan.model.name in known_names(),
        workers=round(loading.workers) if loading and loading.workers is not None else None,
    )


def run_of_configuration(configuration: Configuration, specification: Specification) -> EmittedRun:
    """Return the run of a configuration, whose own specification has its shape and layout."""
    numbers, machine = configuration.training, specification.machine
    layout = specification.layout or ParallelLayout()
    subject = specification.subject
    step_seconds = numbers.global_batch * numbers.sequence / configuration.expected.tokens_per_second
    return EmittedRun(
        title=specification.title,
        model=f"{configuration.name}, {configuration.model.layers} layers of {configuration.model.hidden}",
        parameters=configuration.model.parameters,
        shape=subject if isinstance(subject, TransformerShape) else None,
        machine=machine,
        layout=replace(layout, devices=machine.devices, devices_a_node=machine.devices_a_node),
        accumulation=numbers.accumulation,
        global_batch=numbers.global_batch,
        sequence=numbers.sequence,
        steps=numbers.steps,
        schedule=LearningSchedule(
            optimizer=numbers.optimizer,
            learning_rate=numbers.learning_rate,
            learning_rate_source="recommended for the model's size",
            last_learning_rate=numbers.last_learning_rate,
            warm_up_steps=numbers.warm_up_steps,
            weight_decay=numbers.weight_decay,
            gradient_clip=numbers.gradient_clip,
            betas=BETAS,
        ),
        precision=PRECISIONS[numbers.precision],
        compiled=numbers.compiled,
        checkpoint_steps=_steps(numbers.checkpoint_interval_seconds, step_seconds, numbers.steps),
        step_seconds=step_seconds,
        workers=numbers.loader_workers,
        prefetch=numbers.prefetch,
        pause_seconds=numbers.pause_seconds_per_step,
        environment=tuple((name, value) for name, value in configuration.settings if name.isupper()),
    )


def _layout(section: LayoutSection, machine: TrainingMachine, given: ParallelLayout | None) -> ParallelLayout:
    return ParallelLayout(
        devices=machine.devices,
        devices_a_node=machine.devices_a_node,
        tensor=section.tensor,
        pipeline=section.pipeline,
        interleave=section.interleave,
        context=section.context,
        expert=section.expert,
        micro_batch=section.micro_batch,
        sharding=Sharding(section.sharding),
        shard_group=given.shard_group if given else 0,
        bidirectional=given.bidirectional if given else False,
        sequence_parallel=section.sequence_parallel,
        checkpointing=Checkpointing(section.checkpointing),
        offload=Offload(section.offload),
    )


def _schedule(subject: Subject, training: Training, plan: Plan, rate: float) -> LearningSchedule:
    steps, tokens_per_step = plan.training.steps, plan.training.global_batch * plan.training.sequence
    language = isinstance(subject, TransformerShape) and training.method is Method.FULL
    return LearningSchedule(
        optimizer=training.optimizer.name,
        learning_rate=rate,
        learning_rate_source=plan.training.learning_rate_basis,
        last_learning_rate=LAST_SHARE * rate,
        warm_up_steps=min(steps, warm_up_steps(steps, tokens_per_step)),
        weight_decay=_weight_decay(training, language),
        gradient_clip=GRADIENT_CLIP,
        betas=BETAS if language else USUAL_BETAS,
    )


def _weight_decay(training: Training, language: bool) -> float:
    if training.method is not Method.FULL:
        return 0.0  # as for QLoRA (Dettmers et al., 2023, appendix B)
    if language:
        return WEIGHT_DECAY
    return SGD_DECAY if training.optimizer.name.startswith("sgd") else USUAL_DECAY


def _adapter(training: Training) -> str:
    if training.method is Method.FULL:
        return ""
    frozen = training.frozen_format
    words = [training.method.value]
    words += [f"of rank {training.lora.rank} on {', '.join(training.lora.targets)}"] if training.lora else []
    words += [f"over frozen weights in {frozen.name}"] if frozen else []
    return " ".join(words)


def _between_checkpoints(subject: Subject, training: Training, machine: TrainingMachine) -> float:
    """Return Young's interval for the failure rate of large clusters, limited to an acceptable loss.

    Crashes of the program are not among those failures, so half an hour is the limit, or the time after which writing
    takes one hundredth of the run.
    """
    write = checkpoint_bytes(subject, training) / (machine.nodes * CHECKPOINT_BYTES_PER_SECOND)
    between_failures = 3600 / (DEVICE_FAILURES_AN_HOUR * machine.devices)
    acceptable = max(LONGEST_BETWEEN_CHECKPOINTS, write / MOST_FOR_CHECKPOINTS)
    return min(acceptable, checkpoint_interval(write, between_failures))


def _steps(seconds: float, step_seconds: float, most: int) -> int:
    return min(most, max(1, round(seconds / step_seconds)))
