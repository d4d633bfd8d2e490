"""Every health detector, in the order they are asked."""

from flyball_collector.diagnosis.detector import Detector
from flyball_collector.diagnosis.health.clock import ClockDetector
from flyball_collector.diagnosis.health.degraded import DegradedDetector
from flyball_collector.diagnosis.health.duplicate import DuplicateDetector
from flyball_collector.diagnosis.health.ecc import EccDetector
from flyball_collector.diagnosis.health.infiniband import InfinibandDetector
from flyball_collector.diagnosis.health.lost_gpu import LostGpuDetector
from flyball_collector.diagnosis.health.network import NetworkDetector
from flyball_collector.diagnosis.health.nvlink import NvlinkDetector
from flyball_collector.diagnosis.health.oom_kill import OomKillDetector
from flyball_collector.diagnosis.health.pcie import PcieDetector
from flyball_collector.diagnosis.health.power_brake import PowerBrakeDetector
from flyball_collector.diagnosis.health.presence import PresenceDetector
from flyball_collector.diagnosis.health.read_only import ReadOnlyDetector
from flyball_collector.diagnosis.health.row_remap import RowRemapDetector
from flyball_collector.diagnosis.health.settings import HealthSettings
from flyball_collector.diagnosis.health.silent_gpu import SilentGpuDetector
from flyball_collector.diagnosis.health.told import Told
from flyball_collector.diagnosis.health.xid import XidDetector
from flyball_collector.diagnosis.seldom import Seldom


def health_detectors(settings: HealthSettings) -> list[Detector]:
    """One of each."""
    told = Told()
    return [
        PresenceDetector(settings, told),
        ClockDetector(settings),
        DuplicateDetector(),
        DegradedDetector(),
        SilentGpuDetector(told),
        XidDetector(settings, told),
        LostGpuDetector(settings),
        Seldom(EccDetector(), 2),
        Seldom(RowRemapDetector(), 4, 1),
        Seldom(NvlinkDetector(settings), 4, 2),
        Seldom(PcieDetector(settings), 4, 3),
        Seldom(PowerBrakeDetector(), 2, 1),
        Seldom(InfinibandDetector(settings), 4),
        Seldom(NetworkDetector(settings), 5, 3),
        ReadOnlyDetector(),
        OomKillDetector(told),
    ]
