"""Builds all health detectors in the order in which they run."""

from flyball_collector.diagnosis.detector import Detector
from flyball_collector.diagnosis.health.clock import ClockDetector
from flyball_collector.diagnosis.health.degraded_agent import DegradedDetector
from flyball_collector.diagnosis.health.duplicate_host import DuplicateDetector
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
from flyball_collector.diagnosis.health.read_only_filesystem import ReadOnlyDetector
from flyball_collector.diagnosis.health.row_remap import RowRemapDetector
from flyball_collector.diagnosis.health.settings import HealthSettings
from flyball_collector.diagnosis.health.xid import XidDetector
from flyball_collector.diagnosis.throttled_detector import ThrottledDetector


def health_detectors(settings: HealthSettings) -> list[Detector]:
    """Build one of each."""
    reports = HostReports()
    return [
        PresenceDetector(settings, reports),
        ClockDetector(settings),
        DuplicateDetector(),
        DegradedDetector(),
        GpuNotReportingDetector(reports),
        XidDetector(settings, reports),
        LostGpuDetector(settings),
        ThrottledDetector(EccDetector(), 2),
        ThrottledDetector(RowRemapDetector(), 4, 1),
        ThrottledDetector(NvlinkDetector(settings), 4, 2),
        ThrottledDetector(PcieDetector(settings), 4, 3),
        ThrottledDetector(PowerBrakeDetector(), 2, 1),
        ThrottledDetector(InfinibandDetector(settings), 4),
        ThrottledDetector(NetworkDetector(settings), 5, 3),
        ReadOnlyDetector(),
        OomKillDetector(reports),
    ]
