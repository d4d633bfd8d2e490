"""The published complete trainings of `timing/data/whole_runs.csv`, each with the steps that the planner estimates."""

import csv
import math
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner import timing
from flyball_planner.catalogue.devices import find_device
from flyball_planner.catalogue.hardware import TrainingMachine
from flyball_planner.catalogue.machines import machine
from flyball_planner.interval import Interval
from flyball_planner.layout_search.candidates import Choices
from flyball_planner.layout_search.search import search_layouts
from flyball_planner.memory.checkpoint_size import checkpoint_bytes
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.families import model_cost
from flyball_planner.models.transformer.named_shapes import named_shape
from flyball_planner.models.transformer.shape import Head, NormKind, TransformerKind, TransformerShape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.precision import PRECISIONS
from flyball_planner.timing.overrun import takes_images
from flyball_planner.timing.training_run import Habits, RunEstimate, whole_run
from flyball_planner.training import Attention, Checkpointing, Sharding, Training
from flyball_reports.errors import InputError, UnknownName

FILE = Path(timing.__file__).with_name("data") / "whole_runs.csv"
LABELS = 2  # of fine-tuned classifiers; more of them change nothing
CLUSTER_NETWORK = "1600 Gbps"
"""Of a node of eight A100 or V100, if the source does not state it; newer nodes have theirs in the catalogue."""

STEPS_ALONE = "steps"
"""How hours are counted that their source derives from the pace of a step: they contain nothing that runs lose."""

Subject = TransformerShape | ModelCost


class PublishedRun(Struct, frozen=True):
    """A complete training of the table."""

    name: str
    family: str  # laboratory or series; runs of one family share their software
    subject: Subject
    training: Training
    machine: TrainingMachine
    steps: float
    device_hours: float
    stated_hours: float | None  # the same at the stated pace of a step
    counted: str  # "wall", "hours" or `STEPS_ALONE`: see the table
    choices: Choices  # the parts of the layout that the source states


class PlannedRun(Struct, frozen=True):
    """A published run with its steps as planned."""

    run: PublishedRun
    step: Interval
    mfu: float

    def estimate(self, *, measured: bool = False, left_out: str = "") -> RunEstimate:
        """Return the estimate of the complete run."""
        habits = Habits(checkpoint_bytes=checkpoint_bytes(self.run.subject, self.run.training))
        return whole_run(
            self.step,
            self.run.steps,
            self.run.machine,
            self.mfu,
            habits,
            measured=measured,
            images=takes_images(self.run.subject),
            left_out=left_out,
        )


@cache
def published_runs() -> tuple[PublishedRun, ...]:
    """Return all runs of the table."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return tuple(map(_read, csv.DictReader(line for line in file if not line.startswith("#"))))


def complete_runs() -> tuple[PublishedRun, ...]:
    """Return the runs whose hours contain what runs lose."""
    return tuple(run for run in published_runs() if run.counted != STEPS_ALONE)


def planned_runs() -> Iterator[PlannedRun]:
    """Return every complete run with the steps of the fastest layout that fits, as a plan would choose it."""
    return map(planned, complete_runs())


def planned(run: PublishedRun) -> PlannedRun:
    """Return a run with its steps."""
    found = search_layouts(run.subject, run.training, run.machine, run.choices)
    if found.step is None:
        raise InputError(f"{run.name}: {found.why_none}")
    return PlannedRun(run, found.step.seconds(), float(found.step.mfu[0]))


def family_of(tokens: float, device_hours: float) -> str:
    """Return the family of the run with these tokens and device-hours; empty if the table lacks it."""
    return next(
        (
            run.family
            for run in published_runs()
            if abs(run.device_hours / device_hours - 1) < SAME
            and abs(run.steps * run.training.global_batch * run.training.sequence / tokens - 1) < SAME
        ),
        "",
    )


SAME = 0.01  # relative difference below which two sources state the same figure
NEAR_POWER = 0.1  # relative distance from a power of two below which a rounded figure means it


def _read(row: Mapping[str, str]) -> PublishedRun:
    sequence, devices = int(row["sequence"]), int(row["devices"].removeprefix("~"))
    known, stated = _settings(row), float(row["batch_tokens"]) / sequence
    batch = round(stated) if "micro_batch" in known else round_batch(stated, devices)
    subject = _of_head(_subject(row), known.get("head"))
    tokens = float(row["tokens"])
    return PublishedRun(
        name=row["run"],
        family=row["family"],
        subject=subject,
        training=_training(known, sequence, batch, row["precision"]),
        machine=_machine(row["device"], devices, row["network"]),
        steps=tokens / (batch * sequence),
        device_hours=float(row["device_hours"]),
        stated_hours=float(row["stated_hours"]) if row["stated_hours"] else None,
        counted=row["counted"],
        choices=_choices(known),
    )


def _settings(row: Mapping[str, str]) -> Mapping[str, str]:
    """Return what the source states of the software, by the names of a specification's keys."""
    return dict(each.split("=") for each in row["settings"].split())


def _of_head(subject: Subject, head: str | None) -> Subject:
    """Return the model with another head than the one that it was pretrained with."""
    if head is None or not isinstance(subject, TransformerShape):
        return subject
    return replace(subject, head=Head(head), labels=LABELS)


def _training(known: Mapping[str, str], sequence: int, batch: int, precision: str) -> Training:
    return Training(
        sequence,
        batch,
        find_optimizer("adamw"),
        PRECISIONS[precision],
        attention=Attention(known.get("attention", Attention.FLASH)),
        compiled=known.get("compiled") == "true",
        framework=known.get("framework", "pytorch"),
    )


def _choices(known: Mapping[str, str]) -> Choices:
    def number(key: str) -> list[int]:
        return [int(known[key])] if key in known else []

    return Choices(
        tensor=number("tensor"),
        pipeline=number("pipeline"),
        micro_batch=number("micro_batch"),
        checkpointing=[Checkpointing(known["checkpointing"])] if "checkpointing" in known else (),
        sharding=[Sharding(known["sharding"])] if "sharding" in known else (),
    )


def round_batch(samples: float, devices: int) -> int:
    """Return a batch that layouts can divide: a power of two if one is near ("4M tokens" are 2,048 sequences)."""
    near = int(2 ** max(0, round(math.log2(max(1.0, samples)))))
    odd = devices // (devices & -devices)
    if odd == 1 and abs(near / samples - 1) < NEAR_POWER:
        return near
    unit = devices if samples >= devices else odd
    return max(1, round(samples / unit)) * unit


def _machine(name: str, devices: int, network: str) -> TrainingMachine:
    device = find_device(name)
    known = device.network or devices <= device.devices_a_node
    return machine(device, devices, network=network or (None if known else CLUSTER_NETWORK))


def _subject(row: Mapping[str, str]) -> Subject:
    if not row["model"]:
        return _described(row)
    try:
        return named_shape(row["model"])
    except UnknownName:
        return model_cost(row["model"], {})


def _described(row: Mapping[str, str]) -> TransformerShape:
    """Return a decoder by its dimensions, like Llama if gated and like GPT-2 otherwise."""
    plain = TransformerShape(
        kind=TransformerKind.DECODER,
        layers=int(row["layers"]),
        hidden=int(row["hidden"]),
        heads=int(row["heads"]),
        ffn=int(row["ffn"]),
        vocab=int(row["vocab"]),
        kv_heads=int(row["kv_heads"]),
        head_dim=int(row["head_dim"]),
        name=row["run"],
    )
    if not row["gated"]:
        return replace(plain, max_positions=int(row["sequence"]))
    return replace(
        plain,
        gated=True,
        tied=False,
        norm=NormKind.RMS,
        norm_bias=False,
        qkv_bias=False,
        attention_output_bias=False,
        ffn_bias=False,
        dropout=False,
    )
