"""Bottlenecks of memory: the kernel searches for it, or fetches it back from swap, while work waits."""

import numpy as np

from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.scores.evidence import Assessment, Flags, Floats, Group, Ramp, percent, weigh
from flyball_collector.diagnosis.scores.signals import Signals
from flyball_collector.diagnosis.unknown import known_or

MEMORY, SWAP = BY_NAME["bottleneck_memory"], BY_NAME["bottleneck_swap"]

_PRESSURE = Ramp(0.01, 0.08, below=-3.0, above=2.5)
_STALLED = Ramp(0.005, 0.05, below=-0.7, above=0.7)
_SWAPPED_IN = Ramp(1e5, 2e6, below=-4.0, above=2.7)
_NOT_SWAP = Ramp(2e5, 2e6, below=0.0, above=-3.0)
_WAITING = Ramp(0.05, 0.3, below=-1.5, above=1.2)
_SLOWER = Ramp(0.06, 0.3, below=-1.5, above=1.0)


def assess_memory(s: Signals) -> Assessment:
    """Used memory is no shortage: a cache that fills it is doing its work. Tasks that stall for it are."""
    some, full, faults = s["memory_some"], s["memory_full"], s["major_faults"]

    def words(place: int) -> str:
        return (
            f"tasks stalled for want of memory {percent(some[place])} of the time, all of them {percent(full[place])}; "
            f"{np.nan_to_num(faults[place]):.0f} page faults a second read a disk"
        )

    return weigh(
        MEMORY,
        s.hosts,
        {Group.HOST: _PRESSURE(some) + _STALLED(full) + _NOT_SWAP(s["swap_in"]), Group.STEPS: _harm(s)},
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
    """Pages once put away may rest: only those that are fetched back cost time."""
    swapped_in, some = s["swap_in"], s["memory_some"]

    def words(place: int) -> str:
        return (
            f"{swapped_in[place] / 1e6:.1f} MB/s come back from swap, "
            f"{np.nan_to_num(s['swap_out'][place]) / 1e6:.1f} MB/s go there; "
            f"tasks stalled for memory {percent(some[place])} of the time"
        )

    return weigh(
        SWAP,
        s.hosts,
        {Group.HOST: _SWAPPED_IN(swapped_in) + _STALLED(some), Group.STEPS: _harm(s)},
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
    """Pages are missed where steps load, or where they compute."""
    waiting, slower = s["data_share"], s.slowdown
    harm = np.maximum(
        np.where(np.isnan(waiting), -9.0, _WAITING(waiting)), np.where(np.isnan(slower), -9.0, _SLOWER(slower))
    )
    return np.where(harm > -9.0, harm, 0.0)


def _level(s: Signals, some: Floats, short: Flags) -> Floats:
    """Share of time stalled; where steps wait for input meanwhile, their waiting."""
    waiting = np.where(short, s["data_share"], np.nan)
    return np.asarray(np.fmax(known_or(0.0, some), known_or(0.0, waiting)))
