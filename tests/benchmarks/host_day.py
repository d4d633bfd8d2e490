"""A made-up training host: what its agent would send, with noise like that of real hosts.

Levels wander (first-order autoregression, correlation 0.95 from second to second) and each reading adds its own
unexplained noise; counters add up such levels; bytes of memory move in pages; clocks in 15 MHz steps; much is constant.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from flyball_collector.tick import KnownLayout
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import Metric, counter, gauge

Integers = NDArray[np.int64]
Series = Callable[["Noise"], NDArray[np.float64]]

_WANDER = 0.95


class Noise:
    """Random numbers for one run of ticks."""

    def __init__(self, ticks: int, seed: int) -> None:
        self.ticks = ticks
        self._random = np.random.default_rng(seed)

    def level(self, mean: float, spread: float, *, own: float = 0.3) -> NDArray[np.float64]:
        """A level that wanders around its mean; `own`: the share of the spread that is new each second."""
        steps = self._random.normal(0, spread * (1 - own) * np.sqrt(1 - _WANDER**2), self.ticks)
        level = np.empty(self.ticks)
        value = self._random.normal(0, spread * (1 - own))
        for tick, step in enumerate(steps.tolist()):
            value = value * _WANDER + step
            level[tick] = value
        return np.maximum(mean + level + self._random.normal(0, spread * own, self.ticks), 0.0)

    def constant(self, value: float) -> NDArray[np.float64]:
        return np.full(self.ticks, value)

    def rare(self, each_seconds: float) -> NDArray[np.float64]:
        """Return how often a rare event had happened."""
        return np.cumsum(self._random.random(self.ticks) < 1 / each_seconds).astype(np.float64)


def _grow(start: float, rate: NDArray[np.float64]) -> NDArray[np.float64]:
    return start + np.cumsum(np.rint(rate))


def _steps(size: float, level: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.rint(level / size) * size


def host_day(ticks: int, *, cores: int = 64, gpus: int = 8, seed: int = 1) -> tuple[KnownLayout, Integers]:
    """Layout and values (tick × column, scaled) of a host that trains."""
    noise = Noise(ticks, seed)
    columns: list[tuple[Column, NDArray[np.float64]]] = []

    def add(metric: Metric, values: NDArray[np.float64], *labels: str) -> None:
        columns.append((Column(metric, labels), values))

    _host(add, noise, cores)
    for disk in range(4):
        _disk(add, noise, f"nvme{disk}n1", busy=1.0 if disk < 2 else 0.02)
    for interface in range(3):
        _network(add, noise, f"eth{interface}", busy=(1.0, 0.1, 0.0)[interface])
    for gpu in range(gpus):
        _gpu(add, noise, f"GPU-{gpu:08x}")
    values = np.stack([np.rint(series * column.metric.scale) for column, series in columns], axis=1)
    return KnownLayout(Layout(tuple(column for column, _ in columns))), values.astype(np.int64)


Add = Callable[..., None]


def _host(add: Add, noise: Noise, cores: int) -> None:
    for core in range(cores):
        busy = noise.level(0.35, 0.12)
        add(
            counter("cpu_core_busy_seconds_total", "seconds", "", ("core",), 100),
            np.cumsum(np.minimum(busy, 1)),
            f"{core}",
        )
    for mode, share in (("user", 18), ("system", 4), ("idle", 41), ("iowait", 0.4), ("softirq", 0.3), ("steal", 0)):
        level = noise.level(share, share * 0.08)
        add(counter("cpu_seconds_total", "seconds", "", ("mode",), 100), np.cumsum(level), mode)
    add(gauge("cpu_busy_ratio", "ratio", "", scale=10_000), noise.level(0.35, 0.03))
    add(counter("context_switches_total", "switches", ""), _grow(1e10, noise.level(150_000, 12_000)))
    add(counter("forks_total", "tasks", ""), _grow(1e7, noise.level(4, 3)))
    add(gauge("tasks_runnable", "tasks", ""), noise.level(24, 6))
    add(gauge("tasks_blocked", "tasks", ""), noise.level(0.2, 0.5))
    for window in ("1m", "5m", "15m"):
        add(gauge("load_average", "tasks", "", ("window",), 100), noise.level(24, 0.6, own=0.02), window)
    for index in range(20):
        size = 2.0**40 / (index + 1) ** 3
        moves = index < 14
        level = noise.level(size, size * 0.002, own=0.02) if moves else noise.constant(size)
        add(gauge(f"memory_kind{index}_bytes", "bytes", ""), _steps(4096 if moves else 1, level))
    for index in range(12):
        rate = noise.level(10 ** (index % 6), 10 ** (index % 6) / 4)
        add(counter(f"paging_kind{index}_total", "pages", ""), _grow(1e9, rate))
    for node in range(2):
        for index in range(8):
            add(
                gauge(f"numa_kind{index}_bytes", "bytes", "", ("node",)),
                _steps(4096, noise.level(1e11, 2e8, own=0.02)),
                f"{node}",
            )
    for resource in ("cpu", "io", "memory"):
        for kind in ("some", "full"):
            waits = noise.level(2_000, 1_500) if resource != "memory" else noise.constant(0)
            add(
                counter("pressure_seconds_total", "seconds", "", ("resource", "kind"), 1_000_000),
                np.cumsum(waits) / 1e6,
                resource,
                kind,
            )
    for sensor in range(12):
        add(
            gauge("temperature_celsius", "celsius", "", ("sensor",), 10),
            np.rint(noise.level(55, 3, own=0.1)),
            f"{sensor}",
        )
    for index in range(14):
        add(
            gauge(f"cgroup_kind{index}", "", ""),
            _steps(4096, noise.level(1e9, 1e6)) if index < 3 else noise.constant(index),
        )


def _disk(add: Add, noise: Noise, device: str, *, busy: float) -> None:
    for name, rate in (("read_bytes", 8e8), ("written_bytes", 5e7)):
        moved = _steps(4096, noise.level(rate * busy, rate * busy * 0.2))
        add(counter(f"disk_{name}_total", "bytes", "", ("device",)), np.cumsum(moved), device)
    for name, rate in (("reads", 6_000), ("writes", 400), ("flushes", 2)):
        add(
            counter(f"disk_{name}_total", "operations", "", ("device",)),
            _grow(1e9, noise.level(rate * busy, rate * busy * 0.2)),
            device,
        )
    for name, rate in (("read", 1_800), ("write", 120), ("busy", 700), ("queue", 1_900), ("flush", 1)):
        waits = noise.level(rate * busy, rate * busy * 0.2)
        add(counter(f"disk_{name}_seconds_total", "seconds", "", ("device",), 1000), _grow(1e8, waits) / 1000, device)
    add(gauge("disk_in_flight", "operations", "", ("device",)), noise.level(3 * busy, 2 * busy), device)
    add(counter("disk_discarded_bytes_total", "bytes", "", ("device",)), noise.constant(0), device)


def _network(add: Add, noise: Noise, device: str, *, busy: float) -> None:
    for way in ("received", "sent"):
        add(
            counter(f"network_{way}_bytes_total", "bytes", "", ("device",)),
            _grow(1e13, noise.level(3e8 * busy, 6e7 * busy)),
            device,
        )
        add(
            counter(f"network_{way}_packets_total", "packets", "", ("device",)),
            _grow(1e10, noise.level(9e4 * busy, 2e4 * busy)),
            device,
        )
        for fault in ("errors", "drops"):
            add(
                counter(f"network_{way}_{fault}_total", "packets", "", ("device",)),
                noise.rare(3600 / (busy + 0.01)),
                device,
            )


def _gpu(add: Add, noise: Noise, gpu: str) -> None:
    def put(name: str, scale: int, values: NDArray[np.float64]) -> None:
        add(gauge(name, "", "", ("gpu",), scale), values, gpu)

    def count(name: str, scale: int, values: NDArray[np.float64]) -> None:
        add(counter(name, "", "", ("gpu",), scale), values, gpu)

    power = noise.level(620, 45)
    put("gpu_utilization_ratio", 100, np.minimum(noise.level(0.97, 0.03), 1))
    put("gpu_memory_busy_ratio", 100, noise.level(0.45, 0.05))
    put("gpu_memory_used_bytes", 1, _steps(2**21, noise.level(7e10, 2e8, own=0.0)))
    put("gpu_power_watts", 1000, power)
    count("gpu_energy_joules_total", 1000, 1e9 + np.cumsum(power))
    put("gpu_temperature_celsius", 10, np.rint(noise.level(66, 2, own=0.05)))
    put("gpu_memory_temperature_celsius", 10, np.rint(noise.level(78, 2, own=0.05)))
    put("gpu_temperature_margin_celsius", 10, np.rint(noise.level(20, 2, own=0.05)))
    put("gpu_sm_clock_hertz", 1, _steps(15e6, noise.level(1.7e9, 4e7)))
    count("gpu_pcie_transmit_bytes_total", 1, _grow(1e13, noise.level(2e8, 8e7)))
    count("gpu_pcie_receive_bytes_total", 1, _grow(1e13, noise.level(9e8, 3e8)))
    count("gpu_nvlink_transmit_bytes_total", 1, np.cumsum(_steps(1024, noise.level(9e10, 1.5e10))))
    count("gpu_nvlink_receive_bytes_total", 1, np.cumsum(_steps(1024, noise.level(9e10, 1.5e10))))
    for name in ("sm_active", "sm_occupancy", "tensor_active", "dram_active"):
        put(f"gpu_{name}_ratio", 10_000, noise.level(0.5, 0.06))
    count("gpu_throttle_power_seconds_total", 1000, np.cumsum(noise.level(0.2, 0.15)))
    for index in range(28):
        put(f"gpu_settled_fact{index}", 1, noise.constant(index))
