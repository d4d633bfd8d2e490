"""The registration of an NVIDIA device in the NVLink fabric (since Hopper)."""

import ctypes
import uuid
from dataclasses import dataclass
from typing import Any

from flyball_agent.accelerators import metrics as m
from flyball_agent.accelerators.metrics import DeviceColumn
from flyball_agent.accelerators.nvidia_columns import POSITIONS
from flyball_agent.accelerators.nvidia_queries import DeviceQuery, Failures, Row
from flyball_agent.accelerators.nvml import NO_DATA, NOT_SUPPORTED, SUCCESS, Nvml

CALL = "nvmlDeviceGetGpuFabricInfoV"
_OLD_VERSION = 25  # NVML_ERROR_ARGUMENT_VERSION_MISMATCH
_COMPLETED = 3
_HEALTHY, _UNHEALTHY = 1, 2
_CONDITIONS = (0, 2, 4, 6)  # shifts in the mask: degraded bandwidth, route recovery, unhealthy route, access timeout
_CONFIGURATION = 8
_TRUE = 1


@dataclass(frozen=True, slots=True)
class FabricRegistration:
    """The registration of one device."""

    state: int
    status: int
    clique: int
    cluster: str
    health: int


def read_fabric(nvml: Nvml, handle: ctypes.c_void_p | None) -> tuple[int, FabricRegistration | None]:
    """Return the code of NVML and the registration. A device without a fabric is not supported."""
    info = nvml.structures.c_nvmlGpuFabricInfo_v3_t()
    code = nvml.call(CALL)(handle, ctypes.byref(info))
    if code == _OLD_VERSION:  # a driver without the third version
        info = nvml.structures.c_nvmlGpuFabricInfo_v2_t()
        code = nvml.call(CALL)(handle, ctypes.byref(info))
    if code or not info.state:
        return code or NOT_SUPPORTED, None
    return SUCCESS, FabricRegistration(info.state, info.status, info.cliqueId, _cluster(info), _health(info))


def _cluster(info: Any) -> str:
    raw = bytes(info.clusterUuid)
    return str(uuid.UUID(bytes=raw)) if any(raw) else ""


def _health(info: Any) -> int:
    """Return the summary. The second version has only the mask of conditions."""
    if hasattr(info, "healthSummary"):
        return int(info.healthSummary)
    mask = int(info.healthMask)
    if not mask:
        return 0
    bad = any(mask >> shift & 3 == _TRUE for shift in _CONDITIONS) or mask >> _CONFIGURATION & 0xF > 1
    return _UNHEALTHY if bad else _HEALTHY


class FabricQuery(DeviceQuery):
    """State, result, clique and health. Result and clique are known only once the registration is complete."""

    call = CALL
    positions = tuple(
        POSITIONS[DeviceColumn(metric)]
        for metric in (m.FABRIC_STATE, m.FABRIC_HEALTH, m.FABRIC_STATUS, m.FABRIC_CLIQUE)
    )

    def __init__(self, nvml: Nvml, handle: ctypes.c_void_p) -> None:
        self._nvml = nvml
        self._handle = handle
        self._fabric: FabricRegistration | None = None

    def run(self) -> int:
        code, self._fabric = read_fabric(self._nvml, self._handle)
        return code

    def store(self, row: Row) -> Failures:
        fabric = self._fabric
        assert fabric is not None  # noqa: S101  `run` succeeded
        state, health, status, clique = self.positions
        row[state] = min(fabric.state, len(m.FABRIC_STATE.states) - 1)
        row[health] = min(fabric.health, len(m.FABRIC_HEALTH.states) - 1)
        done = fabric.state == _COMPLETED
        row[status] = fabric.status if done else None
        row[clique] = fabric.clique if done and fabric.status == SUCCESS else None
        return [(position, NO_DATA) for position in (status, clique) if row[position] is None]
