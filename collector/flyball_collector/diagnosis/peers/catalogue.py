"""Builds all detectors that compare a GPU with its peers."""

from flyball_collector.diagnosis.detector import Detector
from flyball_collector.diagnosis.peers.co_tenant import CoTenantDetector
from flyball_collector.diagnosis.peers.cooling import CoolingDetector
from flyball_collector.diagnosis.peers.groups import Peers
from flyball_collector.diagnosis.peers.power import PowerCapDetector
from flyball_collector.diagnosis.peers.settings import PeerSettings
from flyball_collector.diagnosis.runs.run_view import Runs
from flyball_collector.diagnosis.throttled_detector import ThrottledDetector


def peer_detectors(settings: PeerSettings, runs: Runs) -> list[Detector]:
    """Build one of each."""
    peers = Peers(runs)
    return [
        ThrottledDetector(PowerCapDetector(settings, peers), 5),
        ThrottledDetector(CoolingDetector(settings, peers), 10, 4),
        CoTenantDetector(settings),
    ]
