"""The time of the main thread of a training: it runs, waits for a CPU, or waits for something else.

The shares add up to one, as the sections of a step do, so they answer the same question for trainings that report no
steps, and show waits inside a section for those that do.
"""

from dataclasses import dataclass

import numpy as np

from flyball_collector.diagnosis.scores.evidence import Flags, Floats
from flyball_collector.diagnosis.scores.signal_list import WAITS
from flyball_collector.diagnosis.scores.signals import Signals
from flyball_collector.diagnosis.unknown_values import known_or

NEEDS = "main_run"
"""The signal without which nothing is known."""

CALLS, CALLS_BESIDE_WORKERS = 1.0, 10.0
"""Segments a second from which on waiting in `poll` is waiting for an answer, and not for a timer or a worker."""

CALL_CPU_SECONDS = 8e-5
"""CPU time of one call in the caller. Measured: 77 µs for a small request by `http.client` of Python 3.11."""

WINDOW_BYTES = 65536
"""A connection sends so much in one round trip, and twice as much in each further one, until the answer is complete."""

MOST_CALLING = 0.5
"""Share of the running time that calls take at most."""

SERIAL_CORES = 1.2
"""A process that uses no more runs one thread at a time: while another one runs, the main thread does wait for it."""

ACTIVE = 0.03
"""Share of its time in which a process must run. A server without requests and an open notebook wait, too."""

FAR_SECONDS = 0.001
"""A round trip within a machine takes less."""

DELAYED_ANSWER_SECONDS = 0.06
"""A longer round trip is the network's: the other side acknowledges within 40 ms even if its answer takes longer."""

LEAST_LEFT = 0.2
"""The time that other waits leave counts as at least this share: a smaller one is not known well enough."""


@dataclass(frozen=True, slots=True)
class MainTime:
    """The shares along hosts. Waiting for a worker counts as what the worker waits for."""

    run: Floats
    delay: Floats  # for a CPU, also in workers
    disk: Floats
    memory: Floats
    remote: Floats  # files of other machines
    calls: Floats  # answers over the network
    others: Floats  # other threads and processes, names, timers
    way: Floats  # the part of the calls that round trips explain
    is_way_unclear: Flags  # TCP measures long round trips, which may be slow answers, and nothing else is known
    are_known: Flags
    are_alone: Flags  # no parts of steps are reported

    @property
    def waits(self) -> Floats:
        """The share of the time in which the thread waited for a resource."""
        return self.delay + self.disk + self.memory + self.remote + self.calls

    def left_for(self, wait: Floats) -> Floats:
        """Return the share of the time that the waits for other resources leave.

        A wait is weighed against it: of two causes, each takes time in which the other one cannot show.
        """
        return np.maximum(1.0 - np.maximum(self.waits - wait, 0.0), LEAST_LEFT)


def main_time(s: Signals) -> MainTime | None:
    """Return the shares; None if there are none. Time in which a GPU works is not lost, whatever is waited for."""
    if not s.ever_known(NEEDS):
        return None
    are_known = np.fmax(s["main_run"], s["main_cores"]) >= ACTIVE
    return _shares(s, are_known) if are_known.any() else None


def _shares(s: Signals, are_known: Flags) -> MainTime:
    waits = {what: known_or(0.0, s[f"main_{what}"]) for what in WAITS}
    run, cores, calls = s["main_run"], s["main_cores"], known_or(0.0, s["calls"])
    has_workers = known_or(0.0, s["worker_cores"]) > 0
    answering = calls >= np.where(has_workers, CALLS_BESIDE_WORKERS, CALLS)
    asking = waits["socket"] + waits["poll"]
    workers = _workers(s)
    others = waits["process"] + waits["other"] + np.where(answering, 0.0, asking)
    others = np.clip(others, 0.0, 1.0 - np.clip(known_or(0.0, cores) - SERIAL_CORES, 0.0, 1.0))
    calling = np.where(answering, asking + np.minimum(calls * CALL_CPU_SECONDS, MOST_CALLING * known_or(0.0, run)), 0.0)
    idle = 1.0 - known_or(0.0, s["gpu_busy"])
    return MainTime(
        run=run,
        delay=np.minimum(s["main_delay"] + others * workers["delay"], idle),
        disk=np.minimum(waits["disk"] + others * workers["disk"], idle),
        memory=np.minimum(waits["memory"] + others * workers["memory"], idle),
        remote=np.minimum(waits["remote"] + others * workers["remote"], idle),
        calls=np.minimum(calling, idle),
        others=np.minimum(others * workers["rest"], idle),
        way=_way(s, calls, asking),
        is_way_unclear=np.isnan(s["latency"]) & (s["trip"] - s["least_trip"] >= 2 * FAR_SECONDS),
        are_known=are_known,
        are_alone=_report_nothing(s),
    )


def _report_nothing(s: Signals) -> Flags:
    steps = s["data_share"], s["service_share"], s["compute_seconds"]
    return np.asarray(np.all([np.isnan(share) for share in steps], axis=0))


def _workers(s: Signals) -> dict[str, Floats]:
    """Return what workers do while the main thread waits for them; `rest`: nothing that is listed.

    Time in which a worker waits for another process is left out: then it is ahead, and has nothing to do.
    """
    parts = {what: known_or(0.0, s[f"worker_{what}"]) for what in ("delay", "disk", "memory", "remote")}
    rest = sum(known_or(0.0, s[f"worker_{what}"]) for what in ("cores", "socket", "poll", "other"))
    total = np.maximum(sum(parts.values()) + rest, 1e-6)
    shares = {what: np.asarray(part / total) for what, part in parts.items()}
    return {**shares, "rest": np.asarray(1.0 - sum(shares.values()))}


def _way(s: Signals, calls: Floats, asking: Floats) -> Floats:
    """Return the share of the waiting for answers that round trips explain; 0 if it is unknown."""
    trip = np.where(s["trip"] > DELAYED_ANSWER_SECONDS, s["trip"], np.nan)
    longest = known_or(0.0, np.fmax(np.fmax(s["latency"], s["least_trip"]), trip))
    far = np.clip((longest - FAR_SECONDS) / (2 * FAR_SECONDS), 0.0, 1.0)
    trips = calls + calls * np.log2(1.0 + known_or(0.0, s["received"]) / np.maximum(calls, 1e-3) / WINDOW_BYTES)
    return np.asarray(far * np.clip(longest * trips / np.maximum(asking, 1e-3), 0.0, 1.0))
