"""Measured runs for tests, made from the estimates and multiplied by a factor."""

from msgspec.structs import replace

from flyball_planner.calibration.measured_runs import MeasuredRun
from flyball_planner.calibration.memory_peaks import peak_interval
from flyball_planner.calibration.steps import start_of, step_intervals
from flyball_planner.catalogue.machines import machine
from flyball_planner.layouts.layout import ParallelLayout
from flyball_planner.models.families import model_cost
from flyball_planner.models.transformer.named_shapes import named_shape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.training import Checkpointing, Sharding, Training

BATCHES = (64, 128, 256, 512, 1024, 2048)


def gpt(batch: int = 512, micro_batch: int = 8, device: str = "A100 SXM 80GB") -> MeasuredRun:
    """Return GPT-2 medium on eight devices, without measurements."""
    training = Training(sequence=1024, global_batch=batch, optimizer=find_optimizer("adamw"))
    layout = ParallelLayout(devices=8, micro_batch=micro_batch)
    return MeasuredRun(f"gpt {batch}", named_shape("gpt2-medium"), training, machine(device, 8), layout)


def llama(batch: int) -> MeasuredRun:
    """Return Llama 2 7B on eight devices with full recomputation, which is limited by arithmetic."""
    training = Training(sequence=2048, global_batch=batch, optimizer=find_optimizer("adamw"))
    layout = ParallelLayout(devices=8, micro_batch=4, sharding=Sharding.ZERO3, checkpointing=Checkpointing.FULL)
    return MeasuredRun(f"llama {batch}", named_shape("llama-2-7b"), training, machine("A100 SXM 80GB", 8), layout)


def fit(samples: int) -> MeasuredRun:
    """Return a linear regression on a processor."""
    cost = model_cost("linear_regression_normal", {"n": samples, "p": 100})
    training = Training(sequence=1, global_batch=samples, optimizer=find_optimizer("adamw"))
    return MeasuredRun(f"fit {samples}", cost, training, machine("CPU_8C_3.5Ghz_baseline"), ParallelLayout())


def slower(run: MeasuredRun, times: float) -> MeasuredRun:
    """Return the run with a measured step time of `times` the estimate."""
    return replace(run, step_seconds=times * step_intervals([run], start_of(run))[0].middle)


def larger(run: MeasuredRun, times: float) -> MeasuredRun:
    """Return the run with measured allocated memory of `times` the estimate."""
    measured = replace(run, allocated_bytes=1.0)
    return replace(measured, allocated_bytes=times * peak_interval(measured).middle)
