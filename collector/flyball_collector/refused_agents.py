"""The newest refused agents: kept for people who look for a missing host, and logged without repeating each refusal."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import structlog

_log = structlog.get_logger(__name__)

_KEPT = 256
_LOG_SECONDS = 60.0
_LINES = 60  # in `_LOG_SECONDS`: otherwise anyone who can connect could fill the log with invented host names
_HOST_CHARACTERS = 80
_CERTIFICATE_CHARACTERS = 200
_REASON_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class RefusedAgent:
    """One reason for which connections of one agent were refused. All texts are data from outside; times are Unix."""

    host: str  # as its hello claims, or empty
    certificate: str  # the names in its verified certificate, or empty
    address: str
    reason: str
    count: int
    first_at: float
    last_at: float


class RefusedAgents:
    """Any thread may call it. Equal refusals are counted; beyond the limit, those not seen for longest are dropped."""

    def __init__(self, kept: int = _KEPT, clock: Callable[[], float] = time.time) -> None:
        self._kept = kept
        self._clock = clock
        self._agents: OrderedDict[tuple[str, str, str, str], RefusedAgent] = OrderedDict()  # the newest last
        self._logged: dict[tuple[str, str, str, str], float] = {}
        self._lines = 0  # since `_lines_from`
        self._lines_from = 0.0
        self._not_logged = 0
        self._lock = threading.Lock()

    def record(self, *, host: str, certificate: str, address: str, reason: str) -> None:
        """Note one refusal. The first of its kind is logged, then one a minute with the count."""
        key = (
            _limited(host, _HOST_CHARACTERS),
            _limited(certificate, _CERTIFICATE_CHARACTERS),
            _limited(address, _HOST_CHARACTERS),
            _limited(reason, _REASON_CHARACTERS),
        )
        with self._lock:
            agent = self._note(key, self._clock())
            not_logged = self._spend_line(key, agent.last_at)
        if not_logged is None:
            return
        fields: dict[str, object] = {"host": agent.host, "certificate": agent.certificate, "address": agent.address}
        if not_logged:
            fields["not_logged"] = not_logged
        _log.warning("agent_refused", **fields, reason=agent.reason, count=agent.count)

    def recent(self) -> Sequence[RefusedAgent]:
        """Return the refused agents, the newest first."""
        with self._lock:
            return tuple(reversed(self._agents.values()))

    def _note(self, key: tuple[str, str, str, str], now: float) -> RefusedAgent:
        known = self._agents.pop(key, None)
        agent = RefusedAgent(*key, 1, now, now) if known is None else replace(known, count=known.count + 1, last_at=now)
        self._agents[key] = agent
        if len(self._agents) > self._kept:
            dropped, _ = self._agents.popitem(last=False)
            self._logged.pop(dropped, None)
        return agent

    def _spend_line(self, key: tuple[str, str, str, str], now: float) -> int | None:
        """Return how many refusals were left out of the log before this one, or `None` if it is left out as well."""
        if abs(now - self._logged.get(key, now - _LOG_SECONDS)) < _LOG_SECONDS:
            return None  # counted, and part of the next line
        if abs(now - self._lines_from) >= _LOG_SECONDS:
            self._lines, self._lines_from = 0, now
        if self._lines >= _LINES:
            self._not_logged += 1
            return None
        self._lines += 1
        self._logged[key] = now
        not_logged, self._not_logged = self._not_logged, 0
        return not_logged


def _limited(text: str, characters: int) -> str:
    """Return valid text of limited length."""
    whole = text.encode("utf-8", "replace").decode()
    return whole if len(whole) <= characters else f"{whole[: characters - 1]}…"
