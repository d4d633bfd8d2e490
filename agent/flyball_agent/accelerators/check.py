"""Lists the readings of the NVIDIA GPUs of this machine, and how long each NVML call takes.

Run it with `python -m flyball_agent.accelerators.check`.
"""

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from flyball_agent.accelerators.metrics import NVLINK_ACTIVE, NVLINK_LINKS
from flyball_agent.accelerators.nvidia import NvidiaProbe
from flyball_agent.accelerators.nvml import Nvml, NvmlCall
from flyball_agent.probes.probe import ProbeSample, Unavailable
from flyball_proto.v1 import telemetry_pb2 as pb

_NO_GPU = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report. Return 1 if there is no GPU."""
    parser = argparse.ArgumentParser(prog="flyball_agent.accelerators.check", description=__doc__)
    parser.add_argument("--library", default="", help="path of libnvidia-ml.so.1 (default: searched by the loader)")
    parser.add_argument("--ticks", type=int, default=20, help="number of ticks to time")
    parser.add_argument("--every", type=float, default=1.0, help="seconds between ticks")
    options = parser.parse_args(arguments)
    nvml = Nvml(options.library)
    probe = NvidiaProbe(nvml, Path("/sys"))
    try:
        first = probe.read()
    except Unavailable as error:
        print(f"No NVIDIA GPU to check: {error.detail}.")
        if error.remedy:
            print(f"Remedy: {error.remedy}.")
        return _NO_GPU
    walls, processor, last = _time_ticks(probe, max(1, options.ticks), options.every, first)
    parts = (
        _devices(probe.describe()),
        _readings(last),
        _unavailable(last),
        _links(last),
        _instances(probe.describe()),
        _processes(probe.processes),
        _costs(nvml, walls, processor),
    )
    for part in parts:
        for line in (*part, ""):
            print(line)
    return 0


def _time_ticks(
    probe: NvidiaProbe, ticks: int, every_seconds: float, first: ProbeSample
) -> tuple[list[float], float, ProbeSample]:
    """Return the wall seconds of each tick, the mean CPU seconds of a tick, and the last sample."""
    walls, processor, sample = [], 0.0, first
    for _ in range(ticks):
        time.sleep(every_seconds)
        wall, spent = time.perf_counter(), time.process_time()
        sample = probe.read()
        walls.append(time.perf_counter() - wall)
        processor += time.process_time() - spent
    return walls, processor / ticks, sample


def _devices(gpus: Iterable[pb.Gpu]) -> Iterable[str]:
    for gpu in gpus:
        yield (
            f"GPU {gpu.index}: {gpu.model} ({gpu.uuid}), driver {gpu.driver_version}, capability "
            f"{gpu.compute_capability} ({gpu.architecture}: {', '.join(gpu.precisions)}), PCI {gpu.pci_address}, "
            f"NUMA node {gpu.numa_node}"
        )
        yield (
            f"  board {gpu.board_part_number or '?'}, serial {gpu.serial or '?'}, VBIOS {gpu.vbios_version or '?'}, "
            f"InfoROM {gpu.inforom_version or '?'}, fabric {gpu.fabric_cluster or 'none'}"
        )


def _readings(sample: ProbeSample) -> Iterable[str]:
    known = sum(value is not None for value in sample.values)
    yield f"{known} of {len(sample.columns)} readings:"
    for column, value in zip(sample.columns, sample.values, strict=True):
        if value is not None:
            yield f"  {column.metric.name:45} {' '.join(column.labels[1:]):24} {value:g}"


def _unavailable(sample: ProbeSample) -> Iterable[str]:
    yield f"{len(sample.unavailable)} readings are unavailable:"
    for missing in sorted(sample.unavailable):
        resource = missing.resource.partition("/")[2]
        yield f"  {missing.metric or 'everything':45} {resource:24} {missing.reason.word:12} {missing.detail}"
        if missing.remedy:
            yield f"    → {missing.remedy}"


def _links(sample: ProbeSample) -> Iterable[str]:
    """List the NVLinks and what is not zero of their counters."""
    found = False
    for column, value in zip(sample.columns, sample.values, strict=True):
        name = column.metric.name
        if name in (NVLINK_LINKS.name, NVLINK_ACTIVE.name) or (name.startswith("gpu_nvlink") and value):
            found = True
            known = "unknown" if value is None else f"{value:g}"
            yield f"NVLink: GPU {' '.join(column.labels[1:])} {name.removeprefix('gpu_nvlink_')} {known}"
    if not found:
        yield "NVLink: none"


def _instances(gpus: Iterable[pb.Gpu]) -> Iterable[str]:
    lines = [
        f"MIG: GPU {gpu.index} {instance.profile} {instance.uuid} {instance.memory_bytes / 2**30:.1f} GiB"
        for gpu in gpus
        for instance in gpu.mig_instances
    ]
    yield from lines or ["MIG: no instances"]


def _processes(processes: Iterable[pb.GpuProcess]) -> Iterable[str]:
    lines = [
        f"Process {process.pid} on {process.mig_instance or process.gpu}: "
        + (
            f"{process.memory_used_bytes / 2**20:.0f} MiB"
            if process.HasField("memory_used_bytes")
            else "memory unknown"
        )
        + (f", utilization {process.utilization_ratio:.0%}" if process.HasField("utilization_ratio") else "")
        for process in processes
    ]
    yield from lines or ["Processes: none"]


def _costs(nvml: Nvml, walls: Sequence[float], processor: float) -> Iterable[str]:
    middle = sorted(walls)[len(walls) // 2]
    yield f"A tick: median {middle * 1e3:.2f} ms, longest {max(walls) * 1e3:.2f} ms, CPU {processor * 1e3:.2f} ms."
    yield f"{'call':48}{'calls':>8}{'mean µs':>10}{'longest µs':>12}"
    calls: list[NvmlCall] = sorted(nvml.calls.values(), key=lambda call: -call.total_ns)
    for call in calls:
        if call.calls:
            mean = call.total_ns / call.calls / 1e3
            yield f"{call.name:48}{call.calls:>8}{mean:>10.1f}{call.longest_ns / 1e3:>12.1f}"


if __name__ == "__main__":
    sys.exit(main())
