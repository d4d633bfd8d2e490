"""Detects network interfaces that damage or drop packets, and hosts that retransmit many TCP segments."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.health.growth import Growth
from flyball_collector.diagnosis.health.settings import HealthSettings
from flyball_collector.diagnosis.kinds import BY_NAME, EventKind
from flyball_collector.diagnosis.subject import Subject, Subjects, subjects
from flyball_collector.diagnosis.view import View

KIND = BY_NAME["network_errors"]

Floats = NDArray[np.float64]

_SECONDS = 60.0
_FEWEST_ERRORS, _FEWEST_DROPS, _FEWEST_SEGMENTS = 10.0, 100.0, 1000.0  # below these, shares are not meaningful
_EXIT = 0.8  # of the entry level


@dataclass(frozen=True, eq=False)
class _Counts:
    """Counts of a minute: packets along interfaces, TCP segments along hosts."""

    packets: Floats
    errors: Floats
    drops: Floats
    segments: Floats
    again: Floats

    @cached_property
    def damaged(self) -> Floats:
        """The share of damaged packets, along interfaces."""
        return _share(self.errors, self.packets + self.errors)

    @cached_property
    def dropped(self) -> Floats:
        """The share of dropped packets, along interfaces."""
        return _share(self.drops, self.packets + self.drops)

    @cached_property
    def retransmitted(self) -> Floats:
        """The share of retransmitted segments, along hosts."""
        return _share(self.again, self.segments)

    def level(self, settings: HealthSettings) -> Floats:
        """Return the multiple of the limit, along interfaces and then hosts; 0 if there is little traffic."""
        damaged = np.where(self.errors >= _FEWEST_ERRORS, self.damaged / settings.network_error_share, 0.0)
        dropped = np.where(self.drops >= _FEWEST_DROPS, self.dropped / settings.network_drop_share, 0.0)
        retransmitted = np.where(self.segments >= _FEWEST_SEGMENTS, self.retransmitted / settings.retransmit_share, 0.0)
        return np.concatenate([np.maximum(damaged, dropped), retransmitted])

    @property
    def evidence(self) -> dict[str, Floats]:
        """The shares along interfaces and then hosts."""
        no_interface, no_host = np.full(len(self.packets), np.nan), np.full(len(self.segments), np.nan)
        return {
            "error_ratio": np.concatenate([self.damaged, no_host]),
            "drop_ratio": np.concatenate([self.dropped, no_host]),
            "retransmit_ratio": np.concatenate([no_interface, self.retransmitted]),
        }

    def words(self, place: int) -> str:
        """Describe one interface or host."""
        if place >= len(self.packets):
            ratio = self.retransmitted[place - len(self.packets)]
            return f"{100 * ratio:.1f} % of the TCP segments of the last minute were retransmitted"
        return (
            f"{self.errors[place]:.0f} packets damaged ({100 * self.damaged[place]:.2f} %) and {self.drops[place]:.0f} "
            f"dropped ({100 * self.dropped[place]:.2f} %) in the last minute"
        )


class NetworkDetector:
    """Evaluates the packets of the last minute. TCP has no interface: its subject is the host's resource `tcp`."""

    name = "network"
    kinds: Sequence[EventKind] = (KIND,)
    needs: Sequence[str] = ("network_received_packets_total", "tcp_sent_segments_total")

    def __init__(self, settings: HealthSettings) -> None:
        self._settings = settings
        self._grown = {name: Growth(_SECONDS, 12) for name in ("packets", "errors", "drops", "segments", "again")}
        self._parts: tuple[Subjects, Subjects] | None = None
        self._subjects: Subjects = subjects(())

    def observe(self, view: View) -> Iterable[Claims]:
        """Report interfaces with damaged or dropped packets, and hosts with retransmissions."""
        interfaces, hosts = view.resources("network_received_packets_total"), view.hosts
        counts = self._count(view)
        level = counts.level(self._settings)
        yield Claims(
            kind=KIND,
            subjects=self._named(interfaces, hosts),
            enters=level >= 1.0,
            stays=level >= _EXIT,
            confidence=np.full(len(level), 0.9),
            known=view.alive[np.concatenate([interfaces.hosts, hosts.hosts])],
            because=counts.words,
            evidence=counts.evidence,
        )

    def _count(self, view: View) -> _Counts:
        """Return the growth of the counters in the last minute."""
        return _Counts(
            self._interface(view, "packets", "network_received_packets_total", "network_sent_packets_total"),
            self._interface(view, "errors", "network_received_errors_total", "network_sent_errors_total"),
            self._interface(view, "drops", "network_received_drops_total", "network_sent_drops_total"),
            self._host(view, "segments", "tcp_sent_segments_total"),
            self._host(view, "again", "tcp_retransmitted_segments_total"),
        )

    def _interface(self, view: View, name: str, received: str, sent: str) -> Floats:
        """Return the growth of the sum of both directions, along interfaces."""
        along = view.resources("network_received_packets_total")
        total = np.full(len(along), np.nan)
        ours, theirs = along.shared_with(view.resources(received))
        total[ours] = view.resource_count(received)[theirs]
        ours, theirs = along.shared_with(view.resources(sent))
        total[ours] += view.resource_count(sent)[theirs]
        return self._grown[name].add(along, total, view.now)

    def _host(self, view: View, name: str, metric: str) -> Floats:
        return self._grown[name].add(view.hosts, view.host_count(metric), view.now)

    def _named(self, interfaces: Subjects, hosts: Subjects) -> Subjects:
        if self._parts is None or self._parts[0] is not interfaces or self._parts[1] is not hosts:
            tcp = [Subject(host.host, resource="tcp") for host in hosts.names]
            positions = np.concatenate([interfaces.hosts, hosts.hosts])
            self._parts, self._subjects = (interfaces, hosts), subjects((*interfaces.names, *tcp), positions)
        return self._subjects


def _share(part: Floats, whole: Floats) -> Floats:
    share = np.zeros(len(whole))
    np.divide(part, whole, out=share, where=whole > 0)
    return share
