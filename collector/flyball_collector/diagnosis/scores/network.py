"""Bottlenecks outside the host: the network, the interconnect, and services that respond slowly."""

from dataclasses import dataclass

import numpy as np

from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.number_format import clauses
from flyball_collector.diagnosis.scores.evidence import (
    Assessment,
    EvidenceSource,
    Flags,
    Floats,
    Ramp,
    or_lost,
    weigh,
)
from flyball_collector.diagnosis.scores.signals import Signals
from flyball_collector.diagnosis.unknown_values import known_or

NETWORK, SERVICE, INTERCONNECT = (BY_NAME[f"bottleneck_{name}"] for name in ("network", "service", "interconnect"))

_LATENCY = Ramp(0.002, 0.008, below=-2.5, above=1.8)
_GROWN = Ramp(2.0, 8.0, below=-0.7, above=1.0)
_FULL_LINK = Ramp(0.6, 0.9, below=-3.0, above=3.0)
_LOSS = Ramp(0.005, 0.03, below=0.0, above=1.5)
_ANSWER = Ramp(0.008, 0.03, below=-2.5, above=1.8)
_WAITING = Ramp(0.12, 0.35, below=-3.5, above=1.5)
_LOST = Ramp(0.04, 0.12, below=-3.5, above=1.2)
_LOST_TO_CALLS = Ramp(0.03, 0.09, below=-3.5, above=1.8)
_CALLS = Ramp(0.15, 0.4, below=-3.5, above=2.5)
_SEGMENTS = Ramp(50.0, 300.0, below=-0.5, above=0.5)
_FAR = Ramp(0.003, 0.01, below=0.0, above=-2.5)
_FABRIC = Ramp(0.6, 0.85, below=-3.0, above=2.5)
_COLLECTIVES = Ramp(0.05, 0.25, below=-1.5, above=1.2)

SLOW_SECONDS = 0.002
"""A round trip is mentioned from this time on."""

MIXED_SECONDS = 0.005
"""A whole request that takes less is not a sign of a slow network, nor of a slow service."""

MIXED_MOST = 0.6
"""The highest confidence if network and service are measured together."""

_NO_STEPS = -1.5
"""Latency does not matter if nothing calls the service. Without step reports, this is unknown."""


def assess_network(s: Signals) -> Assessment:
    """Count latency where steps wait, and a full link in any case."""
    far, link, answer = _Way.of(s), s["link_use"], s["answer"]
    retransmitted = s["retransmitted"]
    waits = _waits(s)
    full = np.where(np.isnan(link), -9.0, _FULL_LINK(link))
    steps = np.where(np.isnan(waits), np.where(full > 0, 0.0, _NO_STEPS), or_lost(_WAITING(waits), _LOST, s.data_loss))

    def words(place: int) -> str:
        parts = [far.words(place)] if far.seconds[place] >= SLOW_SECONDS else []
        if link[place] >= 0.6:
            parts.append(f"the busiest link is {100 * link[place]:.0f} % utilised")
        if retransmitted[place] >= 0.005:
            parts.append(f"{100 * retransmitted[place]:.1f} % of TCP segments are retransmitted")
        if not np.isnan(waits[place]):
            parts.append(f"steps wait for input and services {100 * waits[place]:.0f} % of the time")
        return "; ".join(parts)

    return weigh(
        NETWORK,
        s.hosts,
        {EvidenceSource.HOST: np.maximum(far.log_odds, full) + _LOSS(retransmitted), EvidenceSource.STEPS: steps},
        prior=-1.0,
        level=np.where(np.isnan(waits), known_or(0.0, link), waits),
        known=~(np.isnan(far.seconds) & np.isnan(link)),
        evidence={
            "latency_seconds": far.seconds,
            "latency_growth": far.growth,
            "answer_seconds": answer,
            "link_use_ratio": link,
            "retransmitted_ratio": retransmitted,
            "data_wait_ratio": s["data_share"],
            "service_ratio": s["service_share"],
        },
        words=words,
        most=np.where(far.mixed & (full <= 0), MIXED_MOST, 1.0),
    )


def assess_service(s: Signals) -> Assessment:
    """Count the time of calls, unless the network is slow, and waiting while a target on a quick network is slow."""
    share, latency, answer = s["service_share"], s["latency"], s["answer"]
    growth, waits, far = s.growth_of("answer"), _waits(s), _Way.of(s)
    calls = np.where(np.isnan(share), 0.0, or_lost(_CALLS(share), _LOST_TO_CALLS, s.service_loss))
    slow = np.where(np.isnan(answer), -9.0, _ANSWER(answer) + _GROWN(growth))
    waiting = np.where(np.isnan(waits), _NO_STEPS, or_lost(_WAITING(waits), _LOST, s.data_loss))
    by_answer = (slow > 0) & (waiting > calls)
    waits_by_answer = np.where(by_answer, waits, np.nan)

    def words(place: int) -> str:
        parts = clauses(
            ("steps wait for input and services {:.0f} % of the time", 100 * waits_by_answer[place]),
            ("calls to services take {:.0f} % of the step time", 100 * share[place]),
            ("a service takes {:.1f} ms to answer", 1e3 * answer[place]),
            ("the round trip takes {:.1f} ms", 1e3 * latency[place]),
        )
        return "; ".join(filter(None, (parts, far.caveat(place))))

    return weigh(
        SERVICE,
        s.hosts,
        {
            EvidenceSource.STEPS: np.where(by_answer, waiting, calls),
            EvidenceSource.HOST: np.where(by_answer, slow, _SEGMENTS(s["segments"])) + _FAR(latency),
        },
        prior=-1.0,
        level=np.where(by_answer, np.fmax(waits, share), share),
        known=~np.isnan(share) | (~np.isnan(answer) & ~np.isnan(waits)),
        evidence={
            "service_ratio": share,
            "answer_seconds": answer,
            "answer_growth": growth,
            "tcp_segments_per_second": s["segments"],
            "latency_seconds": latency,
        },
        words=words,
        most=np.where(far.mixed, MIXED_MOST, 1.0),
    )


@dataclass(frozen=True, slots=True)
class _Way:
    """The way to the farthest target along hosts."""

    seconds: Floats
    growth: Floats
    mixed: Flags  # it is slow, but that may be the service: an old agent measures whole requests

    @classmethod
    def of(cls, s: Signals) -> "_Way":
        """Return the time to connect, or that of a whole request where it is longer and its parts are not known."""
        latency, whole = s["latency"], s["mixed_latency"]
        longer = whole > known_or(0.0, latency)
        return cls(
            np.where(longer, whole, latency),
            np.where(longer, s.growth_of("mixed_latency"), s.growth_of("latency")),
            longer & (whole >= MIXED_SECONDS),
        )

    @property
    def log_odds(self) -> Floats:
        return np.where(np.isnan(self.seconds), -1.0, _LATENCY(self.seconds) + _GROWN(self.growth))

    def words(self, place: int) -> str:
        """Return the sentence of a slow way."""
        what = "a request to a latency target" if self.mixed[place] else "a round trip"
        taken = f"{what} takes {self.seconds[place] * 1e3:.0f} ms, {self.growth[place]:.0f} times the shortest"
        return "; ".join(filter(None, (taken, self.caveat(place))))

    def caveat(self, place: int) -> str:
        """Return why network and service cannot be separated, as a part of a sentence."""
        return "the agent is too old to report whether the network or the service is slow" if self.mixed[place] else ""


def assess_interconnect(s: Signals) -> Assessment:
    """Compare InfiniBand ports with their negotiated rate. NVLink reports no rate to compare with."""
    use, share = s["fabric_use"], s["communication_share"]

    def words(place: int) -> str:
        return clauses(
            ("the busiest InfiniBand port is {:.0f} % utilised", 100 * use[place]),
            ("collectives take {:.0f} % of the step time", 100 * share[place]),
        )

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
