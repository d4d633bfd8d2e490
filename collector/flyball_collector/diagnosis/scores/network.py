"""Bottlenecks outside the host: the network, the interconnect, and services that respond slowly."""

import numpy as np

from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.scores.evidence import (
    Assessment,
    EvidenceSource,
    Floats,
    Ramp,
    or_lost,
    percent,
    weigh,
)
from flyball_collector.diagnosis.scores.signals import Signals
from flyball_collector.diagnosis.unknown_values import known_or

NETWORK, SERVICE, INTERCONNECT = (BY_NAME[f"bottleneck_{name}"] for name in ("network", "service", "interconnect"))

_LATENCY = Ramp(0.002, 0.008, below=-2.5, above=1.8)
_GROWN = Ramp(2.0, 8.0, below=-0.7, above=1.0)
_FULL_LINK = Ramp(0.6, 0.9, below=-3.0, above=3.0)
_LOSS = Ramp(0.005, 0.03, below=0.0, above=1.5)
_WAITING = Ramp(0.12, 0.35, below=-3.5, above=1.5)
_LOST = Ramp(0.04, 0.12, below=-3.5, above=1.2)
_LOST_TO_CALLS = Ramp(0.03, 0.09, below=-3.5, above=1.8)
_CALLS = Ramp(0.15, 0.4, below=-3.5, above=2.5)
_SEGMENTS = Ramp(50.0, 300.0, below=-0.5, above=0.5)
_FAR = Ramp(0.003, 0.01, below=0.0, above=-2.5)
_FABRIC = Ramp(0.6, 0.85, below=-3.0, above=2.5)
_COLLECTIVES = Ramp(0.05, 0.25, below=-1.5, above=1.2)

_NO_STEPS = -1.5
"""Latency does not matter if nothing calls the service. Without step reports, this is unknown."""


def assess_network(s: Signals) -> Assessment:
    """Count latency where steps wait, and a full link in any case."""
    latency, growth, link = s["latency"], s.latency_growth, s["link_use"]
    waits = _waits(s)
    way = np.where(np.isnan(latency), -1.0, _LATENCY(latency) + _GROWN(growth))
    full = np.where(np.isnan(link), -9.0, _FULL_LINK(link))
    steps = np.where(np.isnan(waits), np.where(full > 0, 0.0, _NO_STEPS), or_lost(_WAITING(waits), _LOST, s.data_loss))

    def words(place: int) -> str:
        parts = []
        if latency[place] >= 0.002:
            parts.append(f"a round trip takes {latency[place] * 1e3:.0f} ms, {growth[place]:.0f} times the shortest")
        if link[place] >= 0.6:
            parts.append(f"the busiest link is {100 * link[place]:.0f} % utilised")
        if s["retransmitted"][place] >= 0.005:
            parts.append(f"{100 * s['retransmitted'][place]:.1f} % of TCP segments are retransmitted")
        if not np.isnan(waits[place]):
            parts.append(f"steps wait for input and services {100 * waits[place]:.0f} % of the time")
        return "; ".join(parts)

    return weigh(
        NETWORK,
        s.hosts,
        {EvidenceSource.HOST: np.maximum(way, full) + _LOSS(s["retransmitted"]), EvidenceSource.STEPS: steps},
        prior=-1.0,
        level=np.where(np.isnan(waits), known_or(0.0, link), waits),
        known=~(np.isnan(latency) & np.isnan(link)),
        evidence={
            "latency_seconds": latency,
            "latency_growth": growth,
            "link_use_ratio": link,
            "retransmitted_ratio": s["retransmitted"],
            "data_wait_ratio": s["data_share"],
            "service_ratio": s["service_share"],
        },
        words=words,
    )


def assess_service(s: Signals) -> Assessment:
    """Count the time of calls, unless the network to the service is slow."""
    share, segments, latency = s["service_share"], s["segments"], s["latency"]
    steps = or_lost(_CALLS(share), _LOST_TO_CALLS, s.service_loss)

    def words(place: int) -> str:
        way = "" if np.isnan(latency[place]) else f"; the round trip takes {latency[place] * 1e3:.1f} ms"
        return f"calls to services take {percent(share[place])} of the step time{way}"

    return weigh(
        SERVICE,
        s.hosts,
        {
            EvidenceSource.STEPS: np.where(np.isnan(share), 0.0, steps),
            EvidenceSource.HOST: _SEGMENTS(segments) + _FAR(latency),
        },
        prior=-1.0,
        level=share,
        known=~np.isnan(share),
        evidence={"service_ratio": share, "tcp_segments_per_second": segments, "latency_seconds": latency},
        words=words,
    )


def assess_interconnect(s: Signals) -> Assessment:
    """Compare InfiniBand ports with their negotiated rate. NVLink reports no rate to compare with."""
    use, share = s["fabric_use"], s["communication_share"]

    def words(place: int) -> str:
        collectives = (
            "" if np.isnan(share[place]) else f"; collectives take {100 * share[place]:.0f} % of the step time"
        )
        return f"the busiest InfiniBand port is {percent(use[place])} utilised{collectives}"

    return weigh(
        INTERCONNECT,
        s.hosts,
        {EvidenceSource.HOST: _FABRIC(use), EvidenceSource.STEPS: _COLLECTIVES(share)},
        prior=-1.0,
        level=use,
        known=~np.isnan(use),
        evidence={"infiniband_use_ratio": use, "communication_ratio": share},
        words=words,
    )


def _waits(s: Signals) -> Floats:
    data, service = s["data_share"], s["service_share"]
    waits = known_or(0.0, data) + known_or(0.0, service)
    return np.where(np.isnan(data) & np.isnan(service), np.nan, np.minimum(waits, 1.0))
