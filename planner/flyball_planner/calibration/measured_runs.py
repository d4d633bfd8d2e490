"""Measured runs: what was trained on which hardware, and the results. `specification.runs` reads them from files."""

from msgspec import Struct

from flyball_planner.catalogue.hardware import TrainingMachine
from flyball_planner.layouts.layout import ParallelLayout
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.training import Training

Subject = TransformerShape | ModelCost

MEMORY_COLUMNS = ("allocated_bytes", "reserved_bytes", "driver_bytes")
"""Columns of peak memory on the fullest device; the one nearest to the memory model is first."""


class RunKind(Struct, frozen=True, order=True):
    """A device and a kind of model. Corrections of one kind do not apply to another."""

    device: str
    family: str

    def __str__(self) -> str:
        return f"{self.family} on {self.device}"


class MeasuredRun(Struct, frozen=True):
    """One measured run."""

    name: str  # as shown in reports
    subject: Subject
    training: Training
    machine: TrainingMachine
    layout: ParallelLayout
    step_seconds: float | None = None  # an optimizer step; for classical models the complete fit
    allocated_bytes: float | None = None
    reserved_bytes: float | None = None
    driver_bytes: float | None = None

    @property
    def kind(self) -> RunKind:
        """Return the kind that the run belongs to."""
        return kind_of(self.subject, self.machine)

    @property
    def memory_column(self) -> str | None:
        """Return the memory column to use if several were measured."""
        return next((name for name in MEMORY_COLUMNS if getattr(self, name) is not None), None)

    @property
    def memory_bytes(self) -> float | None:
        """Return the measured memory."""
        return getattr(self, self.memory_column) if self.memory_column else None


class Refused(Struct, frozen=True):
    """A run that was not used, with the reason."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


class MeasuredRuns(Struct, frozen=True):
    """All measured runs of a file or a specification."""

    source: str
    runs: tuple[MeasuredRun, ...]
    refused: tuple[Refused, ...] = ()


def kind_of(subject: Subject, machine: TrainingMachine) -> RunKind:
    """Return the device's name with the kind of model: dense, mixture of experts, or the family of other models."""
    if not isinstance(subject, TransformerShape):
        return RunKind(machine.device.name, subject.family if subject.trained_by_gradient else subject.model)
    return RunKind(machine.device.name, "mixture of experts" if subject.experts else "transformer")
