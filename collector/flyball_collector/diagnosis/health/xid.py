"""Detects XIDs, errors reported by the NVIDIA driver, and explains their meaning, usual cause and remedy."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.health.host_reports import HostReports, NewHostEvent
from flyball_collector.diagnosis.health.settings import HealthSettings
from flyball_collector.diagnosis.health.xid_catalogue import Xid, XidClass, look_up
from flyball_collector.diagnosis.kinds import BY_NAME, EventKind, Severity
from flyball_collector.diagnosis.seen_metrics import ANY_AGENT, ANY_EVENT
from flyball_collector.diagnosis.subject import Subject, Subjects, subjects
from flyball_collector.diagnosis.view import View

KIND = BY_NAME["gpu_xid"]

_REMEMBER_SECONDS = 86_400.0  # to notice the same code in different jobs on one GPU
_MOST = 4096
_TOGETHER_SECONDS = 60.0
_RECOVERY = 154
_RECOVERY_ACTIONS = (
    "none",
    "reset the GPU",
    "restart the host",
    "stop peer-to-peer traffic",
    "drain the GPU, then reset it",
    "recover the IMEX domain",
    "reset the GPU's bus",
    "restart the whole system",
)  # others are not known here; the agent reports them as `other`

_SEVERITY = {
    XidClass.APPLICATION: Severity.WARNING,
    XidClass.RESET: Severity.CRITICAL,
    XidClass.NODE: Severity.CRITICAL,
    XidClass.FOLLOW: Severity.WARNING,
    XidClass.UNKNOWN: Severity.WARNING,
}

Key = tuple[str, str, int]
"""Host, GPU and code."""


@dataclass(slots=True)
class _Seen:
    last: float  # in seconds, by the collector's clock
    count: int = 0
    jobs: set[str] = field(default_factory=set)


class XidDetector:
    """Handles each code on each GPU as a condition of its own.

    An XID counts by its own time, so one that is read again after a restart is not new.
    """

    name = "xid"
    kinds: Sequence[EventKind] = (KIND,)
    needs: Sequence[str] = (ANY_AGENT, ANY_EVENT, "gpu_recovery_action")

    def __init__(self, settings: HealthSettings, reports: HostReports) -> None:
        self._fresh = settings.xid_seconds
        self._reports = reports
        self._seen: dict[Key, _Seen] = {}
        self._subjects: Subjects = subjects(())
        self._hosts: Subjects | None = None

    def observe(self, view: View) -> Iterable[Claims]:
        """Report recent XIDs."""
        for new in self._reports.new_events(view):
            if new.event.kind == "gpu_xid":
                self._take(new, view.now)
        self._note_recovery(view)
        self._forget(view.now)
        named = [key for key, seen in self._seen.items() if self._is_named(key, seen, view)]
        self._name(named, view)
        keys = [self._key(subject) for subject in self._subjects.names]
        enters = np.array([self._counts(key, view.now) for key in keys], dtype=bool)
        yield Claims(
            kind=KIND,
            subjects=self._subjects,
            enters=enters,
            stays=enters,
            confidence=np.full(len(keys), 0.99),  # reported by the driver
            severity=np.array([self._severity(key) for key in keys], dtype=np.int8),
            because=lambda place: self._words(keys[place], view),
            evidence={
                "xid": np.array([float(code) for _, _, code in keys]),
                "times_in_a_day": np.array([float(self._seen[key].count) for key in keys]),
            },
        )

    def _take(self, new: NewHostEvent, now: float) -> None:
        state, event, seconds = new
        if now - seconds > _REMEMBER_SECONDS:
            return
        key = (state.name, event.resource, event.code)
        seen = self._seen.setdefault(key, _Seen(0.0))
        seen.last = max(seen.last, min(seconds, now))  # a clock that is ahead must not keep an XID new forever
        seen.count += 1
        if state.tenancy is not None:
            seen.jobs |= {m.run or f"process {m.pid}" for m in state.tenancy.members if event.resource in m.gpus}

    def _note_recovery(self, view: View) -> None:
        """Treat the driver's recovery action as XID 154. It is active until the action was done."""
        wanted = np.flatnonzero(view.gpu("gpu_recovery_action") > 0)  # False if unknown
        for place in wanted:
            subject = view.gpus.names[place]
            seen = self._seen.setdefault((subject.host, subject.gpu, _RECOVERY), _Seen(0.0))
            seen.last, seen.count = view.now, max(seen.count, 1)

    def _forget(self, now: float) -> None:
        old = [key for key, seen in self._seen.items() if now - seen.last > _REMEMBER_SECONDS]
        if len(self._seen) > _MOST:
            old = sorted(self._seen, key=lambda key: self._seen[key].last)[: len(self._seen) - _MOST]
        for key in old:
            del self._seen[key]

    def _is_named(self, key: Key, seen: _Seen, view: View) -> bool:
        """Return True until the condition of this XID is over."""
        over = self._fresh + KIND.clear_after_seconds + _TOGETHER_SECONDS
        return view.now - seen.last <= over and Subject(key[0]) in view.hosts.places

    def _name(self, keys: Sequence[Key], view: View) -> None:
        names = tuple(Subject(host, gpu, resource=f"XID {code}") for host, gpu, code in keys)
        if names != self._subjects.names or view.hosts is not self._hosts:
            self._subjects = subjects(names, [view.hosts.places[Subject(host)] for host, _, _ in keys])
            self._hosts = view.hosts

    def _key(self, subject: Subject) -> Key:
        return subject.host, subject.gpu, int(subject.resource.removeprefix("XID "))

    def _counts(self, key: Key, now: float) -> bool:
        """Return True if the XID is recent and a fault."""
        seen, belongs_to = self._seen[key], look_up(key[2]).belongs_to
        if now - seen.last > self._fresh or belongs_to is XidClass.IGNORE:
            return False
        return belongs_to is not XidClass.FOLLOW or not self._leaders(key)

    def _leaders(self, key: Key) -> list[int]:
        """Return the codes on the same GPU at about the same time of which this XID may be an after-effect."""
        host, gpu, code = key
        return [
            other
            for (that_host, that_gpu, other), seen in self._seen.items()
            if (that_host, that_gpu) == (host, gpu)
            and other not in {code, _RECOVERY}
            and abs(seen.last - self._seen[key].last) <= _TOGETHER_SECONDS
            and look_up(other).belongs_to not in {XidClass.FOLLOW, XidClass.IGNORE}
        ]

    def _suspects_hardware(self, key: Key) -> bool:
        return look_up(key[2]).belongs_to is XidClass.APPLICATION and len(self._seen[key].jobs) >= 2

    def _severity(self, key: Key) -> Severity:
        if self._suspects_hardware(key):
            return Severity.CRITICAL
        return _SEVERITY.get(look_up(key[2]).belongs_to, Severity.INFO)

    def _words(self, key: Key, view: View) -> str:
        xid, seen = look_up(key[2]), self._seen[key]
        words = [f"XID {xid.code} ({xid.belongs_to}): {xid.name}", f"{seen.count} in the last 24 h"]
        if self._suspects_hardware(key):
            words.append(
                f"{len(seen.jobs)} different jobs had this error on this GPU; suspect the hardware and test it"
            )
        words.append(f"action: {self._action(xid, key, view)}")
        if xid.disputed:
            words.append(f"sources disagree: {xid.disputed}")
        return "; ".join(words)

    def _action(self, xid: Xid, key: Key, view: View) -> str:
        place = view.gpus.places.get(Subject(key[0], key[1]))
        if xid.code != _RECOVERY or place is None:
            return xid.action
        action = view.gpu("gpu_recovery_action")[place]
        known = 0 < action < len(_RECOVERY_ACTIONS)
        return _RECOVERY_ACTIONS[int(action)] if known else xid.action
