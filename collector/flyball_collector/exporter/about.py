"""Metrics that the exporter makes itself: about agents, unavailable readings, what a host is, who uses its GPUs, and its runs."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from flyball_collector.fleet.snapshot import HostView
from flyball_collector.fleet.steps import StepTotals
from flyball_proto.metric import Kind, Metric, counter, gauge
from flyball_proto.v1 import telemetry_pb2 as pb

Labels = Sequence[tuple[str, str]]

MAX_UNAVAILABLE = 64
MAX_PROCESSES = 128
"""Series a host may have of these kinds: what tells them apart is the host's word."""

UP = gauge("agent_up", "boolean", "1 while the host's records are fresh.")
LAST_REPORT = gauge("agent_last_report_timestamp_seconds", "seconds", "When the newest record came in, in Unix time.")
STREAM_OPEN = gauge("agent_stream_open", "boolean", "1 while the agent is connected to the collector.")
DUPLICATE = gauge("duplicate_host", "boolean", "1 while two machines send under this name.")
BACKLOG = gauge("agent_backlog_bytes", "bytes", "Spooled records that wait to be replayed.")
CLOCK_SKEW = gauge("clock_skew_seconds", "seconds", "The host's wall clock minus the collector's.")
AGENT_INFO = gauge("agent_info", "info", "Always 1: the agent's version.")
HOST_INFO = gauge("host_info", "info", "Always 1: the machine and its system.")
GPU_INFO = gauge("gpu_info", "info", "Always 1: what a GPU is, to be joined on the label gpu.")
SILENT = gauge(
    "probe_unavailable", "boolean", "Always 1: a probe that cannot give some or all of its readings, and why."
)
PROCESS_MEMORY = gauge("gpu_process_memory_used_bytes", "bytes", "Memory of the GPU that a process holds.")
PROCESS_BUSY = gauge("gpu_process_busy_ratio", "ratio", "Share of the time in which a process kept the GPU busy.")
STEP = gauge("run_step", "steps", "The last step that a rank finished.")
STEPS = counter("run_steps_total", "steps", "Steps that a rank has reported.")
STEP_SECONDS = counter("run_step_seconds_total", "seconds", "Time that the reported steps took.")
DATA_WAIT = counter("run_data_wait_seconds_total", "seconds", "Time in which the reported steps waited for data.")
TOKENS = counter("run_tokens_total", "tokens", "Tokens that the reported steps trained on.")
SAMPLES = counter("run_samples_total", "samples", "Samples that the reported steps trained on.")
LOSS = gauge("run_loss", "loss", "Loss of the last step that a rank reported.")

_Step = Callable[[StepTotals], float | None]
RUN_METRICS: tuple[tuple[Metric, _Step], ...] = (
    (STEP, lambda totals: totals.step),
    (STEPS, lambda totals: totals.steps),
    (STEP_SECONDS, lambda totals: totals.step_seconds),
    (DATA_WAIT, lambda totals: totals.data_wait_seconds),
    (TOKENS, lambda totals: totals.tokens),
    (SAMPLES, lambda totals: totals.samples),
    (LOSS, lambda totals: totals.loss),
)

_State = Callable[[HostView, bool], float | None]
STATE_METRICS: tuple[tuple[Metric, _State], ...] = (
    (UP, lambda _, fresh: fresh),
    (LAST_REPORT, lambda host, _: host.received_ns / 1e9 if host.received_ns else None),
    (STREAM_OPEN, lambda host, fresh: host.connected if fresh else None),
    (DUPLICATE, lambda host, fresh: host.duplicate if fresh else None),
    (BACKLOG, lambda host, fresh: host.backlog_bytes if fresh else None),
    (CLOCK_SKEW, lambda host, fresh: host.clock_skew_seconds if fresh else None),
)

INFO_METRICS = (AGENT_INFO, HOST_INFO, GPU_INFO, SILENT)
PROCESS_METRICS = (PROCESS_MEMORY, PROCESS_BUSY)
METRICS: tuple[Metric, ...] = (
    *(metric for metric, _ in STATE_METRICS),
    *INFO_METRICS,
    *PROCESS_METRICS,
    *(metric for metric, _ in RUN_METRICS),
)
"""All of them: no host may declare a metric of these names."""

assert all(metric.kind is not Kind.STATE for metric in METRICS)  # noqa: S101  they are written without their words


@dataclass(frozen=True, slots=True)
class Info:
    """Labels of a series that is always 1."""

    metric: Metric
    labels: Labels


def infos(host: HostView) -> Iterable[Info]:
    """Everything that is told in labels; it changes only when the agent, the inventory or the unavailable readings do."""
    if host.agent_version:
        yield Info(AGENT_INFO, [("version", host.agent_version)])
    if host.inventory is not None:
        yield Info(HOST_INFO, _host_labels(host.inventory))
        yield from (Info(GPU_INFO, _gpu_labels(gpu)) for gpu in host.inventory.gpus)
    reasons = dict.fromkeys(
        (unavailable_reading.probe, unavailable_reading.reason.word) for unavailable_reading in host.unavailable
    )
    for probe, reason in islice(reasons, MAX_UNAVAILABLE):
        yield Info(SILENT, [("probe", probe), ("reason", reason)])


def processes(host: HostView) -> list[pb.GpuProcess]:
    """The processes on the host's GPUs."""
    return list(islice(host.extras.gpu_processes, MAX_PROCESSES)) if host.extras is not None else []


def process_labels(process: pb.GpuProcess, tenancy: pb.Tenancy | None) -> Labels:
    """Which process it is, and for whom it works if that is known."""
    labels = [("gpu", process.gpu), ("pid", str(process.pid))]
    for member in tenancy.members if tenancy is not None else ():
        if member.pid == process.pid:
            rank = [("rank", str(member.rank)), ("run", member.run)] if member.run else []
            return [*labels, *rank, ("user", member.user)]
    return labels


def rank_labels(totals: StepTotals) -> Labels:
    """Which rank of which run it is."""
    return [("rank", str(totals.rank)), ("run", totals.run)]


def _host_labels(inventory: pb.Inventory) -> Labels:
    return [
        ("architecture", inventory.architecture),
        ("cpu_model", inventory.cpu.model),
        ("kernel", inventory.kernel),
        ("operating_system", inventory.operating_system),
        ("virtualization", inventory.virtualization),
    ]


def _gpu_labels(gpu: pb.Gpu) -> Labels:
    return [
        ("driver", gpu.driver_version),
        ("gpu", gpu.uuid),
        ("index", str(gpu.index)),
        ("model", gpu.model),
        ("pci_address", gpu.pci_address),
        ("vendor", gpu.vendor),
    ]
