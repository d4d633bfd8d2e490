"""Measured runs in a file: what a training was, and how long its steps took.

A file is YAML, JSON (both a list under `runs`) or CSV (a line a run). Each run has the same keys:

    model       name of a well-known transformer or of a model family
    gpu         name of the device, as the catalogue knows it
    devices, devices_a_node, network
    sequence, global_batch, micro_batch, precision, optimizer, framework, attention, compiled
    tensor, pipeline, interleave, context, expert, sharding, checkpointing
    step_seconds    measured, without the first steps
    peak_bytes      measured, optional
"""

import csv
import json
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import TypeVar

import msgspec

from flyball_planner.catalogue.hardware import Machine
from flyball_planner.catalogue.machines import machine
from flyball_planner.errors import PlanError, UnknownName
from flyball_planner.layouts.columns import Layout
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.families import model_cost
from flyball_planner.models.transformer.named import named_shape
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.precision import PRECISIONS
from flyball_planner.training import Attention, Checkpointing, Sharding, Training

Choice = TypeVar("Choice", bound=Enum)


class MeasuredRun(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of such a file."""

    model: str
    gpu: str
    step_seconds: float
    global_batch: int
    devices: int = 1
    devices_a_node: int = 8
    network: str = ""
    sequence: int = 1
    micro_batch: int = 1
    precision: str = "bf16"
    optimizer: str = "adamw"
    framework: str = "pytorch"
    attention: str = "flash"
    compiled: bool = False
    tensor: int = 1
    pipeline: int = 1
    interleave: int = 1
    context: int = 1
    expert: int = 1
    sharding: str = "none"
    checkpointing: str = "none"
    sequence_parallel: bool = False
    peak_bytes: float | None = None

    @property
    def subject(self) -> TransformerShape | ModelCost:
        """The model: a well-known transformer, or a family by its name."""
        try:
            return named_shape(self.model)
        except UnknownName:
            return model_cost(self.model, {})

    @property
    def training(self) -> Training:
        """How it was trained."""
        if self.precision not in PRECISIONS:
            raise UnknownName("precision", self.precision, PRECISIONS)
        return Training(
            sequence=self.sequence,
            global_batch=self.global_batch,
            optimizer=find_optimizer(self.optimizer),
            precision=PRECISIONS[self.precision],
            attention=_choice(Attention, "attention", self.attention),
            compiled=self.compiled,
            framework=self.framework,
            fp32_gradients=self.framework == "megatron",
        )

    @property
    def layout(self) -> Layout:
        """How it was spread."""
        return Layout(
            devices=self.devices,
            devices_a_node=self.devices_a_node,
            tensor=self.tensor,
            pipeline=self.pipeline,
            interleave=self.interleave,
            context=self.context,
            expert=self.expert,
            micro_batch=self.micro_batch,
            sharding=_choice(Sharding, "sharding", self.sharding),
            sequence_parallel=self.sequence_parallel,
            checkpointing=_choice(Checkpointing, "checkpointing", self.checkpointing),
        )

    @property
    def machine(self) -> Machine:
        """What it ran on."""
        return machine(self.gpu, self.devices, self.devices_a_node, self.network or None)


def read_runs(path: Path) -> list[MeasuredRun]:
    """The runs of a file; `PlanError` says which line and which key is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as reason:
        raise PlanError(f"{path} cannot be read ({reason.strerror}); name a file of measured runs") from reason
    found = [_run(path, position, each) for position, each in enumerate(_entries(path, text), start=1)]
    if not found:
        raise PlanError(f"{path} holds no run; give at least one with model, gpu, global_batch and step_seconds")
    return found


def _entries(path: Path, text: str) -> Sequence[Mapping[str, object]]:
    suffix = path.suffix.casefold()
    if suffix == ".csv":
        return [{key: value for key, value in row.items() if value} for row in csv.DictReader(text.splitlines())]
    if suffix not in {".yaml", ".yml", ".json"}:
        raise PlanError(f"{path} ends in {suffix or 'nothing'}; measured runs are read from .yaml, .json or .csv")
    document = json.loads(text) if suffix == ".json" else _yaml(text)
    runs = document.get("runs") if isinstance(document, dict) else document
    if not isinstance(runs, list):
        raise PlanError(f"{path} has no list of runs; put them under `runs:`")
    return runs


def _yaml(text: str) -> object:
    import yaml  # noqa: PLC0415  read only where a file is YAML

    return yaml.safe_load(text)


def _run(path: Path, position: int, entry: Mapping[str, object]) -> MeasuredRun:
    try:
        run = msgspec.convert(entry, MeasuredRun, strict=path.suffix.casefold() != ".csv")
    except msgspec.ValidationError as reason:
        raise PlanError(f"{path}, run {position}: {reason}") from reason
    if run.step_seconds <= 0:
        raise PlanError(f"{path}, run {position}: step_seconds is {run.step_seconds}; it must be above 0")
    return run


def _choice(kind: type[Choice], key: str, value: str) -> Choice:
    try:
        return kind(value)
    except ValueError as reason:
        raise UnknownName(key, value, [str(each.value) for each in kind]) from reason
