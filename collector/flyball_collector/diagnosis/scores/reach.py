"""Bottlenecks of what lies outside the host: the network on the way there, and services that answer slowly."""

import numpy as np

from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.scores.evidence import Assessment, Floats, Group, Ramp, or_lost, percent, weigh
from flyball_collector.diagnosis.scores.signals import Signals
from flyball_collector.diagnosis.unknown import known_or

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

_UNTOLD = -1.5
"""A long way to a service harms nobody who does not call it; without steps nobody says so."""


def assess_network(s: Signals) -> Assessment:
    """A slow network counts where steps wait; a full link by itself."""
    latency, growth, link = s["latency"], s.latency_growth, s["link_use"]
    waits = _waits(s)
    way = np.where(np.isnan(latency), -1.0, _LATENCY(latency) + _GROWN(growth))
    full = np.where(np.isnan(link), -9.0, _FULL_LINK(link))
    steps = np.where(np.isnan(waits), np.where(full > 0, 0.0, _UNTOLD), or_lost(_WAITING(waits), _LOST, s.data_loss))

    def words(place: int) -> str:
        parts = []
        if latency[place] >= 0.002:
            parts.append(f"a round trip takes {latency[place] * 1e3:.0f} ms, {growth[place]:.0f} times the shortest")
        if link[place] >= 0.6:
            parts.append(f"the fullest link is {link[place]:.0%} used")
        if s["retransmitted"][place] >= 0.005:
            parts.append(f"{s['retransmitted'][place]:.1%} of segments are sent again")
        if not np.isnan(waits[place]):
            parts.append(f"steps wait for input and services {waits[place]:.0%} of their time")
        return "; ".join(parts)

    return weigh(
        NETWORK,
        s.hosts,
        {Group.HOST: np.maximum(way, full) + _LOSS(s["retransmitted"]), Group.STEPS: steps},
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
    """Calls take the steps' time although the way to the service is short."""
    share, segments, latency = s["service_share"], s["segments"], s["latency"]
    steps = or_lost(_CALLS(share), _LOST_TO_CALLS, s.service_loss)

    def words(place: int) -> str:
        way = "" if np.isnan(latency[place]) else f"; the way there and back takes {latency[place] * 1e3:.1f} ms"
        return f"calls to services take {percent(share[place])} of the steps' time{way}"

    return weigh(
        SERVICE,
        s.hosts,
        {Group.STEPS: np.where(np.isnan(share), 0.0, steps), Group.HOST: _SEGMENTS(segments) + _FAR(latency)},
        prior=-1.0,
        level=share,
        known=~np.isnan(share),
        evidence={"service_ratio": share, "tcp_segments_per_second": segments, "latency_seconds": latency},
        words=words,
    )


def assess_interconnect(s: Signals) -> Assessment:
    """InfiniBand ports at the rate they negotiated; NVLink tells no rate to compare with."""
    use, share = s["fabric_use"], s["communication_share"]

    def words(place: int) -> str:
        told = "" if np.isnan(share[place]) else f"; collectives take {share[place]:.0%} of the steps' time"
        return f"the fullest InfiniBand port is {percent(use[place])} used{told}"

    return weigh(
        INTERCONNECT,
        s.hosts,
        {Group.HOST: _FABRIC(use), Group.STEPS: _COLLECTIVES(share)},
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
