"""The measured facts that the audit understands, and what each says of the findings of which rules."""

from dataclasses import dataclass
from enum import Enum, auto

from flyball_audit.finding import Time


class Verdict(Enum):
    """What a fact does to a finding."""

    CONFIRM = auto()  # a note becomes a warning, and surer
    LOWER = auto()  # becomes a note, and less sure
    WITHDRAW = auto()  # is not told


@dataclass(frozen=True)
class Fact:
    """Something that can be measured while a script runs."""

    name: str
    meaning: str
    share: bool = True
    """A share of a whole, 0 to 1; else a number of at least 0."""
    time: Time | None = None
    """The kind of time whose share of a step it is."""


@dataclass(frozen=True)
class Bearing:
    """From a value on, or below one, a fact speaks for or against the findings of some rules."""

    fact: str
    verdict: Verdict
    rules: tuple[str, ...]
    source: str
    at_least: float | None = None
    below: float | None = None

    def holds(self, value: float) -> bool:
        """Whether the fact's value is on this side."""
        return (self.at_least is None or value >= self.at_least) and (self.below is None or value < self.below)


FACTS = (
    Fact("data_wait_ratio", "share of the step spent waiting for the next batch", time=Time.INPUT),
    Fact("host_bound_ratio", "share of the step in which the GPU waited for the host to queue work", time=Time.HOST),
    Fact("service_wait_ratio", "share of the step spent waiting for requests and databases", time=Time.SERVICE),
    Fact(
        "communication_ratio",
        "share of the step in collectives that did not overlap with computation",
        time=Time.COMMUNICATION,
    ),
    Fact("optimizer_ratio", "share of the step in the optimizer, clipping and gradient norms", time=Time.OPTIMIZER),
    Fact("compute_ratio", "share of the step in forward and backward kernels", time=Time.COMPUTE),
    Fact("checkpoint_ratio", "share of the run in which the training paused for a checkpoint"),
    Fact("evaluation_ratio", "share of the run in evaluation", time=Time.EVALUATION),
    Fact("transfer_wait_ratio", "share of the step spent waiting for copies between host and GPU"),
    Fact("gpu_busy_ratio", "share of the time in which a kernel was running"),
    Fact("gpu_memory_used_ratio", "share of the GPU's memory in use at its peak"),
    Fact("tensor_active_ratio", "share of the time in which the tensor cores were active"),
    Fact("convolution_ratio", "share of kernel time in convolutions"),
    Fact("attention_ratio", "share of kernel time in attention"),
    Fact("loss_spikes", "number of steps whose loss or gradient norm was far above its neighbours", share=False),
    Fact("gpu_memory_growth_bytes_per_step", "steady growth of allocated GPU memory, in bytes per step", share=False),
    Fact("host_memory_growth_bytes_per_step", "steady growth of host memory, in bytes per step", share=False),
)
"""Every fact; a name says its unit."""

_LOADER = (
    "loader-without-workers", "loader-few-workers", "loader-not-persistent", "tokenise-in-loop", "whole-file-per-item",
)  # fmt: skip
_TRANSFER = ("loader-without-pinned-memory", "blocking-transfer", "cpu-tensor-then-move")
_WAITS = ("sync-every-step", "synchronize-every-step")
_HOST = (*_WAITS, "no-compile", "gradient-norms-every-step", "slow-optimizer-loop", "garbage-collection-every-step")
_SERVICE = ("per-sample-requests", "per-item-database-writes")
_EVALUATION = ("sync-in-eval-loop", "literal-eval-batch-size", "no-grad-missing-in-eval")
_EXCHANGE = ("allreduce-every-micro-step", "data-parallel")
_OPTIMIZER = ("slow-optimizer-loop", "gradient-norms-every-step", "zero-grad-to-zero")
_CHECKPOINT = ("checkpoint-every-step",)
_KEEPING = ("host-memory-growth", "retained-graph")

_OURS = "Flyball's threshold"
_KINETO = "PyTorch Kineto's profiler advice"
BEARINGS = (
    Bearing("data_wait_ratio", Verdict.CONFIRM, _LOADER, _KINETO, at_least=0.05),
    Bearing("data_wait_ratio", Verdict.WITHDRAW, _LOADER, _OURS, below=0.01),
    Bearing("data_wait_ratio", Verdict.LOWER, ("small-batch",), "late batches matter more", at_least=0.05),
    Bearing("transfer_wait_ratio", Verdict.CONFIRM, _TRANSFER, _OURS, at_least=0.05),
    Bearing("transfer_wait_ratio", Verdict.WITHDRAW, _TRANSFER, _OURS, below=0.01),
    Bearing("host_bound_ratio", Verdict.CONFIRM, _HOST, _OURS, at_least=0.1),
    Bearing("host_bound_ratio", Verdict.LOWER, _HOST, "the gain is at most this share", below=0.02),
    Bearing("gpu_busy_ratio", Verdict.LOWER, _WAITS, "the gain is at most the idle share", at_least=0.98),
    Bearing("gpu_busy_ratio", Verdict.CONFIRM, ("small-batch",), "smdebug's profiler rule on batch size", below=0.7),
    Bearing("gpu_memory_used_ratio", Verdict.WITHDRAW, ("small-batch",), "no room for a larger batch", at_least=0.9),
    Bearing("service_wait_ratio", Verdict.CONFIRM, _SERVICE, _OURS, at_least=0.05),
    Bearing("service_wait_ratio", Verdict.LOWER, _SERVICE, _OURS, below=0.01),
    Bearing("communication_ratio", Verdict.CONFIRM, _EXCHANGE, _KINETO, at_least=0.1),
    Bearing("communication_ratio", Verdict.LOWER, _EXCHANGE, _OURS, below=0.02),
    Bearing("optimizer_ratio", Verdict.CONFIRM, _OPTIMIZER, _OURS, at_least=0.1),
    Bearing("optimizer_ratio", Verdict.LOWER, _OPTIMIZER, _OURS, below=0.02),
    Bearing("checkpoint_ratio", Verdict.CONFIRM, _CHECKPOINT, _OURS, at_least=0.05),
    Bearing("checkpoint_ratio", Verdict.LOWER, _CHECKPOINT, _OURS, below=0.01),
    Bearing("evaluation_ratio", Verdict.CONFIRM, _EVALUATION, _OURS, at_least=0.1),
    Bearing("evaluation_ratio", Verdict.LOWER, _EVALUATION, _OURS, below=0.01),
    Bearing("tensor_active_ratio", Verdict.CONFIRM, ("no-mixed-precision",), _KINETO, below=0.005),
    Bearing("tensor_active_ratio", Verdict.WITHDRAW, ("no-mixed-precision",), "it is already in use", at_least=0.05),
    Bearing("convolution_ratio", Verdict.CONFIRM, ("cudnn-benchmark-unset",), _OURS, at_least=0.3),
    Bearing("convolution_ratio", Verdict.WITHDRAW, ("cudnn-benchmark-unset",), "no convolutions to tune", below=0.02),
    Bearing("attention_ratio", Verdict.CONFIRM, ("handwritten-attention", "mask-in-forward"), _OURS, at_least=0.15),
    Bearing("attention_ratio", Verdict.LOWER, ("handwritten-attention",), _OURS, below=0.03),
    Bearing("loss_spikes", Verdict.CONFIRM, ("no-gradient-clipping",), "clipping prevents spikes", at_least=1),
    Bearing("gpu_memory_growth_bytes_per_step", Verdict.CONFIRM, ("retained-graph",), "PyTorch's FAQ", at_least=1),
    Bearing("host_memory_growth_bytes_per_step", Verdict.CONFIRM, _KEEPING, "it grows", at_least=1),
    Bearing("host_memory_growth_bytes_per_step", Verdict.LOWER, ("host-memory-growth",), "no growth", below=1),
)  # fmt: skip
"""Thresholds and who set them. Between them a fact says nothing."""
