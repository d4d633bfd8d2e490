"""Activity counters (GPM, since Hopper): what a device or a MIG instance did between two samples."""

import ctypes
import struct
from collections.abc import Sequence
from typing import Any

from flyball_agent.accelerators.metrics import DeviceColumn
from flyball_agent.accelerators.nvidia_columns import GPM_METRICS, GPM_PCIE, POSITIONS
from flyball_agent.accelerators.nvidia_queries import DeviceQuery, Failures, Row
from flyball_agent.accelerators.nvml import NO_DATA, NOT_SUPPORTED, SUCCESS, Nvml, NvmlError

Result = tuple[int, float]
"""Code and value of one metric."""


class GpmReader:
    """Takes a sample at each call and compares it with the previous one. The first call has no values."""

    _ONE = "4xId24x"  # nvmlGpmMetric_t: code and value

    def __init__(self, nvml: Nvml, handle: ctypes.c_void_p, ids: Sequence[int], instance: int | None = None) -> None:
        """Read the device, or the GPU instance (MIG) with this number."""
        self._nvml = nvml
        self._arguments = (handle,) if instance is None else (handle, ctypes.c_uint(instance))
        self._handle = handle
        self._sample = nvml.call("nvmlGpmSampleGet" if instance is None else "nvmlGpmMigSampleGet")
        self._metrics_get = nvml.call("nvmlGpmMetricsGet")
        self._ids = tuple(ids)
        self._layout = struct.Struct("=" + self._ONE * len(self._ids))
        self._get: Any = None
        self._old: ctypes.c_void_p | None = None
        self._new: ctypes.c_void_p | None = None
        self._samples = 0

    def run(self) -> int:
        """Take a sample. Return the code of NVML."""
        if self._get is None and (code := self._prepare()):
            return code
        assert self._old is not None  # noqa: S101  `_prepare` allocates both
        assert self._new is not None  # noqa: S101
        self._old, self._new = self._new, self._old
        if code := self._sample(*self._arguments, self._new):
            self._samples = 0  # the other sample is older than one tick
            return code
        self._samples += 1
        if self._samples < 2:
            return SUCCESS
        self._get.sample1 = ctypes.cast(self._old, type(self._get.sample1))
        self._get.sample2 = ctypes.cast(self._new, type(self._get.sample2))
        return self._metrics_get(ctypes.byref(self._get))

    def results(self) -> list[Result]:
        """Return code and value of each metric, in the order of the ids."""
        if self._samples < 2:
            return [(NO_DATA, 0.0)] * len(self._ids)
        flat = self._layout.unpack_from(self._get, type(self._get).metrics.offset)
        return list(zip(flat[::2], flat[1::2], strict=True))

    def close(self) -> None:
        """Free the samples."""
        for sample in (self._old, self._new):
            if sample is not None:
                self._nvml.call("nvmlGpmSampleFree")(sample)
        self._get = self._old = self._new = None
        self._samples = 0

    def _prepare(self) -> int:
        if code := gpm_support(self._nvml, self._handle):
            return code
        try:
            self._old = self._nvml.handle("nvmlGpmSampleAlloc")
            self._new = self._nvml.handle("nvmlGpmSampleAlloc")
        except NvmlError as error:
            return error.code
        self._get = self._nvml.structures.c_nvmlGpmMetricsGet_t()
        self._get.version = self._nvml.structures.NVML_GPM_METRICS_GET_VERSION
        self._get.numMetrics = len(self._ids)
        for position, metric in enumerate(self._ids):
            self._get.metrics[position].metricId = metric
        return SUCCESS


def gpm_support(nvml: Nvml, handle: ctypes.c_void_p) -> int:
    """Return 0 if the device has activity counters, otherwise the code of NVML."""
    support = nvml.structures.c_nvmlGpmSupport_t()
    support.version = nvml.structures.NVML_GPM_SUPPORT_VERSION
    if code := nvml.call("nvmlGpmQueryDeviceSupport")(handle, ctypes.byref(support)):
        return code
    return SUCCESS if support.isSupportedDevice else NOT_SUPPORTED


class GpmQuery(DeviceQuery):
    """The activity of a device. It also keeps the PCIe rates that `PcieBytesQuery` needs."""

    call = "nvmlGpmMetricsGet"
    positions = tuple(POSITIONS[DeviceColumn(metric)] for metric in GPM_METRICS.values())

    def __init__(self, nvml: Nvml, handle: ctypes.c_void_p) -> None:
        self._reader = GpmReader(nvml, handle, (*GPM_METRICS, *GPM_PCIE))
        self.pcie_rates: tuple[float | None, ...] = (None,) * len(GPM_PCIE)
        """Bytes a second from and to the GPU, since the previous sample."""

    def run(self) -> int:
        self.pcie_rates = (None,) * len(GPM_PCIE)
        return self._reader.run()

    def store(self, row: Row) -> Failures:
        results = self._reader.results()
        failures = []
        for position, (code, percent) in zip(self.positions, results, strict=False):
            row[position] = None if code else percent / 100
            if code:
                failures.append((position, code))
        self.pcie_rates = tuple(None if code else mebibytes * 2**20 for code, mebibytes in results[-len(GPM_PCIE) :])
        return failures

    def close(self) -> None:
        self._reader.close()
