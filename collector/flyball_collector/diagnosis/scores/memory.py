"""Bottlenecks of memory: work waits while the kernel reclaims memory or reads pages from swap."""

import numpy as np

from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.number_format import clauses
from flyball_collector.diagnosis.scores.evidence import Assessment, EvidenceSource, Flags, Floats, Ramp, weigh
from flyball_collector.diagnosis.scores.signals import Signals
from flyball_collector.diagnosis.unknown_values import known_or

MEMORY, SWAP = BY_NAME["bottleneck_memory"], BY_NAME["bottleneck_swap"]

_PRESSURE = Ramp(0.01, 0.08, below=-3.0, above=2.5)
_STALLED = Ramp(0.005, 0.05, below=-0.7, above=0.7)
_SWAPPED_IN = Ramp(1e5, 2e6, below=-4.0, above=2.7)
_NOT_SWAP = Ramp(2e5, 2e6, below=0.0, above=-3.0)
_WAITING = Ramp(0.05, 0.3, below=-1.5, above=1.2)
_SLOWER = Ramp(0.06, 0.3, below=-1.5, above=1.0)


def assess_memory(s: Signals) -> Assessment:
    """Count tasks that stall for memory. High memory use alone is normal, because caches use free memory."""
    some, full, faults = s["memory_some"], s["memory_full"], s["major_faults"]

    def words(place: int) -> str:
        return clauses(
            ("tasks stalled for memory {:.0f} % of the time", 100 * some[place]),
            ("all of them {:.0f} % of the time", 100 * full[place]),
            ("{:.0f} major page faults a second", faults[place]),
        )

    return weigh(
        MEMORY,
        s.hosts,
        {
            EvidenceSource.HOST: _PRESSURE(some) + _STALLED(full) + _NOT_SWAP(s["swap_in"]),
            EvidenceSource.STEPS: _harm(s),
        },
        prior=-1.0,
        level=_level(s, some, some >= 0.02),
        known=~np.isnan(some),
        evidence={
            "memory_pressure_ratio": some,
            "memory_pressure_full_ratio": full,
            "memory_used_ratio": s["memory_used"],
            "major_faults_per_second": faults,
            "reclaimed_pages_per_second": s["reclaimed"],
        },
        words=words,
    )


def assess_swap(s: Signals) -> Assessment:
    """Count pages that are read back from swap. Pages that stay there cost no time."""
    swapped_in, swapped_out, some = s["swap_in"], s["swap_out"], s["memory_some"]

    def words(place: int) -> str:
        return clauses(
            ("{:.1f} MB/s are read from swap", swapped_in[place] / 1e6),
            ("{:.1f} MB/s are written to it", swapped_out[place] / 1e6),
            ("tasks stalled for memory {:.0f} % of the time", 100 * some[place]),
        )

    return weigh(
        SWAP,
        s.hosts,
        {EvidenceSource.HOST: _SWAPPED_IN(swapped_in) + _STALLED(some), EvidenceSource.STEPS: _harm(s)},
        prior=-1.0,
        level=_level(s, some, swapped_in >= 1e6),
        known=~np.isnan(swapped_in),
        evidence={
            "swap_in_bytes_per_second": swapped_in,
            "swap_out_bytes_per_second": s["swap_out"],
            "memory_pressure_ratio": some,
            "major_faults_per_second": s["major_faults"],
        },
        words=words,
    )


def _harm(s: Signals) -> Floats:
    """Return the log-odds that missing pages slow down the loading or the computing of steps."""
    waiting, slower = s["data_share"], s.slowdown
    harm = np.maximum(
        np.where(np.isnan(waiting), -9.0, _WAITING(waiting)), np.where(np.isnan(slower), -9.0, _SLOWER(slower))
    )
    return np.where(harm > -9.0, harm, 0.0)


def _level(s: Signals, some: Floats, short: Flags) -> Floats:
    """Return the share of time stalled, or the steps' wait for input if that is larger while memory is short."""
    waiting = np.where(short, s["data_share"], np.nan)
    return np.asarray(np.fmax(known_or(0.0, some), known_or(0.0, waiting)))
