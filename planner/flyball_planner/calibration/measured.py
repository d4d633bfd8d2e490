"""Measured runs as values: what was trained on what, and what it took. `specification.runs` reads them from files."""

from msgspec import Struct

from flyball_planner.catalogue.hardware import Machine
from flyball_planner.layouts.columns import Layout
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.training import Training

Subject = TransformerShape | ModelCost

MEMORY_COLUMNS = ("allocated_bytes", "reserved_bytes", "driver_bytes")
"""Of the fullest device at its peak, the nearest to what the memory model counts first."""


class Kind(Struct, frozen=True, order=True):
    """A device and a kind of model: what is learned of one does not hold for another."""

    device: str
    family: str

    def __str__(self) -> str:
        return f"{self.family} on {self.device}"


class MeasuredRun(Struct, frozen=True):
    """One run."""

    name: str  # as a report calls it
    subject: Subject
    training: Training
    machine: Machine
    layout: Layout
    step_seconds: float | None = None  # of an optimizer step; of a classical model from the first sample to the last
    allocated_bytes: float | None = None
    reserved_bytes: float | None = None
    driver_bytes: float | None = None

    @property
    def kind(self) -> Kind:
        """What it teaches of."""
        return kind_of(self.subject, self.machine)

    @property
    def memory_column(self) -> str | None:
        """Which reading of the memory is used where several were taken."""
        return next((name for name in MEMORY_COLUMNS if getattr(self, name) is not None), None)

    @property
    def memory_bytes(self) -> float | None:
        """That reading."""
        return getattr(self, self.memory_column) if self.memory_column else None


class Refused(Struct, frozen=True):
    """A run that teaches nothing, and why."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


class MeasuredRuns(Struct, frozen=True):
    """What a file, or a specification, holds of them."""

    source: str
    runs: tuple[MeasuredRun, ...]
    refused: tuple[Refused, ...] = ()


def kind_of(subject: Subject, machine: Machine) -> Kind:
    """The device, and whether the model is dense, a mixture of experts, or of a family told by its operators."""
    if not isinstance(subject, TransformerShape):
        return Kind(machine.device.name, subject.family if subject.trained_by_gradient else subject.model)
    return Kind(machine.device.name, "mixture of experts" if subject.experts else "transformer")
