"""Every health detector, in the order they are asked."""

from flyball_collector.diagnosis.detector import Detector
from flyball_collector.diagnosis.health.clock import ClockDetector
from flyball_collector.diagnosis.health.degraded import DegradedDetector
from flyball_collector.diagnosis.health.duplicate import DuplicateDetector
from flyball_collector.diagnosis.health.ecc import EccDetector
from flyball_collector.diagnosis.health.gpu_not_reporting import GpuNotReportingDetector
from flyball_collector.diagnosis.health.host_reports import HostReports
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
from flyball_collector.diagnosis.health.xid import XidDetector
from flyball_collector.diagnosis.throttled import Throttled


def health_detectors(settings: HealthSettings) -> list[Detector]:
    """One of each."""
    reports = HostReports()
    return [
        PresenceDetector(settings, reports),
        ClockDetector(settings),
        DuplicateDetector(),
        DegradedDetector(),
        GpuNotReportingDetector(reports),
        XidDetector(settings, reports),
        LostGpuDetector(settings),
        Throttled(EccDetector(), 2),
        Throttled(RowRemapDetector(), 4, 1),
        Throttled(NvlinkDetector(settings), 4, 2),
        Throttled(PcieDetector(settings), 4, 3),
        Throttled(PowerBrakeDetector(), 2, 1),
        Throttled(InfinibandDetector(settings), 4),
        Throttled(NetworkDetector(settings), 5, 3),
        ReadOnlyDetector(),
        OomKillDetector(reports),
    ]
