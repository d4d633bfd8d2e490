"""Metrics that the exporter derives from the collector's state of a host: agent, hardware, processes, ranks."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from flyball_collector.fleet.snapshot import HostView
from flyball_collector.fleet.step_totals import CallTotals, StepTotals
from flyball_proto.metric import Kind, Metric, counter, gauge
from flyball_proto.v1 import telemetry_pb2 as pb

Labels = Sequence[tuple[str, str]]

MAX_UNAVAILABLE = 64
MAX_PROCESSES = 128
MAX_SERVICES = 256
MAX_HELD = 256
"""Maximum series of these kinds for one host, because their labels come from the host."""

UP = gauge("agent_up", "boolean", "1 while the host reports.")
LAST_REPORT = gauge(
    "agent_last_report_timestamp_seconds", "seconds", "Time at which the newest record arrived, in Unix time."
)
STREAM_OPEN = gauge("agent_stream_open", "boolean", "1 while the agent is connected to the collector.")
DUPLICATE = gauge("duplicate_host", "boolean", "1 while two machines use this host name.")
BACKLOG = gauge("agent_backlog_bytes", "bytes", "Size of the records in the agent's spool that are not sent yet.")
CLOCK_SKEW = gauge("clock_skew_seconds", "seconds", "The host's wall clock minus the collector's wall clock.")
AGENT_INFO = gauge("agent_info", "info", "Always 1. Its label is the agent's version.")
HOST_INFO = gauge("host_info", "info", "Always 1. Its labels describe the machine and its operating system.")
GPU_INFO = gauge("gpu_info", "info", "Always 1. Its labels describe a GPU; join on the label gpu.")
PROBE_UNAVAILABLE = gauge(
    "probe_unavailable", "boolean", "Always 1. Its labels name a probe with unavailable readings, and the reason."
)
PROCESS_MEMORY = gauge("gpu_process_memory_used_bytes", "bytes", "GPU memory that a process holds.")
PROCESS_BUSY = gauge("gpu_process_busy_ratio", "ratio", "Share of the time in which a process keeps the GPU busy.")
STEP = gauge("run_step", "steps", "The number of the last step that a rank completed.")
STEPS = counter("run_steps_total", "steps", "Steps reported by a rank.")
STEP_SECONDS = counter("run_step_seconds_total", "seconds", "Total duration of the reported steps.")
DATA_WAIT = counter("run_data_wait_seconds_total", "seconds", "Total time that the reported steps waited for data.")
TOKENS = counter("run_tokens_total", "tokens", "Tokens processed in the reported steps.")
SAMPLES = counter("run_samples_total", "samples", "Samples processed in the reported steps.")
LOSS = gauge("run_loss", "loss", "Loss of the last step that a rank reported.")
DEVICE_BUSY = counter(
    "run_device_busy_seconds_total",
    "seconds",
    "Time in which the device computed the steps of a rank that measures it.",
)
ALLOCATED_PEAK = gauge(
    "run_allocated_peak_bytes", "bytes", "Most memory that the tensors of a rank held on its device, by its report."
)
RESERVED_PEAK = gauge(
    "run_reserved_peak_bytes",
    "bytes",
    "Most memory that the allocator of a rank reserved on its device, by its report.",
)
HOST_RUN = gauge(
    "host_run_info",
    "info",
    "Always 1. Its labels name a run on the host and its user.",
)
GPU_RUN = gauge(
    "gpu_run_info", "info", "Always 1. Its labels name a GPU and a run whose processes hold it; join on the label gpu."
)
CALLS = counter("run_calls_total", "calls", "Calls of a rank to a service.")
CALL_SECONDS = counter("run_call_seconds_total", "seconds", "Total duration of the calls to a service.")
CALL_ERRORS = counter("run_call_errors_total", "calls", "Calls to a service that failed.")

_Step = Callable[[StepTotals], float | None]
RUN_METRICS: tuple[tuple[Metric, _Step], ...] = (
    (STEP, lambda totals: totals.step),
    (STEPS, lambda totals: totals.steps),
    (STEP_SECONDS, lambda totals: totals.step_seconds),
    (DATA_WAIT, lambda totals: totals.data_wait_seconds),
    (TOKENS, lambda totals: totals.tokens),
    (SAMPLES, lambda totals: totals.samples),
    (LOSS, lambda totals: totals.loss),
    (DEVICE_BUSY, lambda totals: totals.device_seconds),
    (ALLOCATED_PEAK, lambda totals: totals.allocated_peak_bytes),
    (RESERVED_PEAK, lambda totals: totals.reserved_peak_bytes),
)

_Call = Callable[[CallTotals], float]
CALL_METRICS: tuple[tuple[Metric, _Call], ...] = (
    (CALLS, lambda totals: totals.calls),
    (CALL_SECONDS, lambda totals: totals.seconds),
    (CALL_ERRORS, lambda totals: totals.errors),
)

_State = Callable[[HostView, bool], float | None]
STATE_METRICS: tuple[tuple[Metric, _State], ...] = (
    (UP, lambda _, reports: reports),
    (LAST_REPORT, lambda host, _: host.received_ns / 1e9 if host.received_ns else None),
    (STREAM_OPEN, lambda host, reports: host.connected if reports else None),
    (DUPLICATE, lambda host, reports: host.duplicate if reports else None),
    (BACKLOG, lambda host, reports: host.backlog_bytes if reports else None),
    (CLOCK_SKEW, lambda host, reports: host.clock_skew_seconds if reports else None),
)

INFO_METRICS = (AGENT_INFO, HOST_INFO, GPU_INFO, PROBE_UNAVAILABLE)
HELD_METRICS = (HOST_RUN, GPU_RUN)
PROCESS_METRICS = (PROCESS_MEMORY, PROCESS_BUSY)
METRICS: tuple[Metric, ...] = (
    *(metric for metric, _ in STATE_METRICS),
    *INFO_METRICS,
    *HELD_METRICS,
    *PROCESS_METRICS,
    *(metric for metric, _ in RUN_METRICS),
    *(metric for metric, _ in CALL_METRICS),
)
"""All of them. Hosts must not declare metrics of these names."""

assert all(metric.kind is not Kind.STATE for metric in METRICS)  # noqa: S101  they are written without state names


@dataclass(frozen=True, slots=True)
class Info:
    """The labels of a series that is always 1."""

    metric: Metric
    labels: Labels


def infos(host: HostView) -> Iterable[Info]:
    """Yield the series with value 1. They change only with the agent, the inventory or the unavailable readings."""
    if host.agent_version:
        yield Info(AGENT_INFO, [("version", host.agent_version)])
    if host.inventory is not None:
        yield Info(HOST_INFO, _host_labels(host.inventory))
        yield from (Info(GPU_INFO, _gpu_labels(gpu)) for gpu in host.inventory.gpus)
    reasons = dict.fromkeys((reading.probe, reading.reason.word) for reading in host.unavailable)
    for probe, reason in islice(reasons, MAX_UNAVAILABLE):
        yield Info(PROBE_UNAVAILABLE, [("probe", probe), ("reason", reason)])


def runs_of(tenancy: pb.Tenancy | None, reported: Collection[str]) -> list[Info]:
    """Return the runs of a host and those of its GPUs, from its processes and the runs that report steps there."""
    members = [member for member in (tenancy.members if tenancy is not None else ()) if member.run]
    users = dict.fromkeys((member.run, member.user) for member in members)
    named = {run for run, _ in users}
    users |= dict.fromkeys((run, "") for run in sorted(reported) if run not in named)
    found = [Info(HOST_RUN, [("run", run), ("user", user)]) for run, user in islice(users, MAX_HELD)]
    return found + [Info(GPU_RUN, labels) for labels in islice(_held_gpus(members), MAX_HELD)]


def _held_gpus(members: Iterable[pb.Member]) -> Iterator[Labels]:
    held = dict.fromkeys((gpu, member.run, member.user) for member in members for gpu in member.gpus)
    return ([("gpu", gpu), ("run", run), ("user", user)] for gpu, run, user in held)


def processes(host: HostView) -> list[pb.GpuProcess]:
    """Return the processes on the host's GPUs."""
    return list(islice(host.extras.gpu_processes, MAX_PROCESSES)) if host.extras is not None else []


def process_labels(process: pb.GpuProcess, tenancy: pb.Tenancy | None) -> Labels:
    """Return the labels of a process, with its run and user if known."""
    labels = [("gpu", process.gpu), ("pid", str(process.pid))]
    for member in tenancy.members if tenancy is not None else ():
        if member.pid == process.pid:
            rank = [("rank", str(member.rank)), ("run", member.run)] if member.run else []
            return [*labels, *rank, ("user", member.user)]
    return labels


def rank_labels(totals: StepTotals) -> Labels:
    """Return the labels of a rank of a run."""
    return [("rank", str(totals.rank)), ("run", totals.run)]


def call_labels(totals: StepTotals, call: CallTotals) -> Labels:
    """Return the labels of a service that a rank calls."""
    return [*rank_labels(totals), ("service", call.service)]


def calls(host: HostView) -> list[tuple[StepTotals, CallTotals]]:
    """Return the services that the host's ranks call."""
    return list(islice(((totals, call) for totals in host.steps for call in totals.calls), MAX_SERVICES))


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
