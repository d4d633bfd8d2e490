"""Bottlenecks of disks: input that is read too slowly, and checkpoints that block the training."""

import numpy as np

from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.number_format import clauses
from flyball_collector.diagnosis.scores.evidence import (
    Assessment,
    EvidenceSource,
    Floats,
    Ramp,
    or_lost,
    weigh,
)
from flyball_collector.diagnosis.scores.signals import Signals
from flyball_collector.diagnosis.unknown_values import known_or

DISK, CHECKPOINT = BY_NAME["bottleneck_disk"], BY_NAME["bottleneck_checkpoint"]

_PRESSURE = Ramp(0.03, 0.15, below=-2.5, above=1.5)
_OF_THE_WAITING = Ramp(0.05, 0.3, below=-2.5, above=1.5)  # the kernel counts less stall time if other CPUs work
_STALLED = Ramp(0.02, 0.1, below=-0.4, above=0.8)
_BUSY = Ramp(0.05, 0.3, below=-1.0, above=0.7)
_WAITING = Ramp(0.12, 0.35, below=-3.0, above=1.5)
_LOST = Ramp(0.04, 0.12, below=-3.0, above=1.2)
_READS = Ramp(2e5, 5e6, below=-2.0, above=0.2)
_OTHER_CAUSE = Ramp(0.03, 0.08, below=0.0, above=-4.0)  # if memory is short, pages are read again
_WELL_FED = Ramp(0.7, 0.95, below=0.7, above=-2.5)
_SAVING = Ramp(0.03, 0.1, below=-3.0, above=2.5)

_NO_WAIT = -0.5
"""If neither steps nor GPUs show that anything waits for the disk."""


def assess_disk(s: Signals) -> Assessment:
    """Count waits for a disk. A busy disk is harmless if steps hardly wait, whatever its I/O is."""
    some, full, busy = s["io_some"], s["io_full"], s["disk_busy"]
    waiting, read, latency = s["data_share"], s["disk_read"], s["disk_latency"]
    share = np.divide(some, waiting, out=np.zeros_like(some), where=waiting >= 0.1)
    pressure = np.where(waiting >= 0.1, np.maximum(_PRESSURE(some), _OF_THE_WAITING(share)), _PRESSURE(some))
    host = pressure + _STALLED(full) + _BUSY(busy) + _OTHER_CAUSE(s["memory_some"])
    gpu = np.where(host > 0, _WELL_FED(s["gpu_busy"]), 0.0)
    steps = np.where(np.isnan(waiting), 0.0, or_lost(_WAITING(waiting), _LOST, s.data_loss) + _READS(read))
    steps = np.where(np.isnan(waiting) & np.isnan(s["gpu_busy"]), _NO_WAIT, steps)

    def words(place: int) -> str:
        return clauses(
            ("tasks stalled for I/O {:.0f} % of the time", 100 * some[place]),
            ("the disk was {:.0f} % busy", 100 * busy[place]),
            ("{:.0f} MB/s read", read[place] / 1e6),
            ("{:.1f} ms for each operation", 1e3 * latency[place]),
            ("steps wait for input {:.0f} % of the time", 100 * waiting[place]),
        )

    return weigh(
        DISK,
        s.hosts,
        {EvidenceSource.HOST: host, EvidenceSource.STEPS: steps, EvidenceSource.GPU: gpu},
        prior=-1.0,
        level=_disk_level(some, waiting),
        known=~(np.isnan(some) & np.isnan(busy)),
        evidence={
            "io_pressure_ratio": some,
            "io_pressure_full_ratio": full,
            "disk_busy_ratio": busy,
            "disk_queue": s["disk_queue"],
            "disk_latency_seconds": s["disk_latency"],
            "disk_read_bytes_per_second": read,
            "disk_written_bytes_per_second": s["disk_written"],
            "data_wait_ratio": waiting,
        },
        words=words,
    )


def assess_checkpoint(s: Signals) -> Assessment:
    """Use the steps' reports: a checkpoint that is written in the background costs nothing."""
    share = s["checkpoint_share"]

    def words(place: int) -> str:
        return clauses(("checkpoints took {:.0f} % of the step time in the last minutes", 100 * share[place]))

    return weigh(
        CHECKPOINT,
        s.hosts,
        {EvidenceSource.STEPS: _SAVING(share)},
        prior=-1.0,
        level=share,
        known=~np.isnan(share),
        evidence={"checkpoint_ratio": share, "disk_written_bytes_per_second": s["disk_written"]},
        words=words,
    )


def _disk_level(some: Floats, waiting: Floats) -> Floats:
    return np.where(np.isnan(waiting), known_or(0.0, some), waiting)
