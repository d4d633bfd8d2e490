"""Silences: muted notifications, until when, by whom and why."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

import msgspec

from flyball_collector.diagnosis.kinds import BY_NAME, Severity
from flyball_collector.notify.adjustment_kinds import ADJUSTMENT_KINDS
from flyball_collector.notify.alert_text import labels
from flyball_collector.timeline.entry import Entry
from flyball_daemon.suggestion import suggestion

SILENCE = "silence"
"""The kind of their documents."""

MATCHED = ("kind", "severity", "host", "gpu", "run", "rank", "resource", "alertname")
MAX_SECONDS = 366 * 86400.0


class Silence(msgspec.Struct, frozen=True, kw_only=True):
    """All matchers must match: a name and its value; `*` and `?` are wildcards."""

    id: str
    matchers: dict[str, str]
    created_ns: int
    until_ns: int
    by: str = ""
    comment: str = ""

    def matches(self, entry: Entry) -> bool:
        """Return True if the silence matches an entry, regardless of its time."""
        values = labels(entry)
        values["host"] = values.pop("instance", "")
        return all(fnmatchcase(values.get(name, ""), pattern) for name, pattern in self.matchers.items())


class Silences:
    """The silences in force. Adding and removing one requires storing it first."""

    def __init__(self) -> None:
        self._silences: dict[str, Silence] = {}

    def load(self, bodies: Iterable[bytes]) -> None:
        """Load stored silences. Damaged ones are skipped."""
        for body in bodies:
            try:
                silence = msgspec.json.decode(body, type=Silence)
            except msgspec.MsgspecError:
                continue
            self._silences[silence.id] = silence

    def add(self, silence: Silence) -> None:
        """Add a silence."""
        self._silences[silence.id] = silence

    def remove(self, id_: str) -> bool:
        """Remove a silence. Return False if there was none."""
        return self._silences.pop(id_, None) is not None

    def active(self, now_ns: int) -> list[Silence]:
        """Return the silences in force, the first to end first."""
        return sorted((s for s in self._silences.values() if s.until_ns > now_ns), key=lambda silence: silence.until_ns)

    def expired(self, now_ns: int) -> list[Silence]:
        """Return the silences that have ended."""
        return [silence for silence in self._silences.values() if silence.until_ns <= now_ns]

    def silence_of(self, entry: Entry, now_ns: int) -> Silence | None:
        """Return a silence that matches an entry, or `None`."""
        return next((silence for silence in self.active(now_ns) if silence.matches(entry)), None)


_KNOWN = {"kind": (*BY_NAME, *ADJUSTMENT_KINDS), "severity": tuple(each.word for each in Severity)}
"""Closed lists: a pattern that matches none of them would never match anything."""


def check_matchers(matchers: Mapping[str, str]) -> None:
    """Raise `ValueError` with the fault if matchers are not valid."""
    if not matchers:
        raise ValueError("a silence needs at least one matcher, such as host=node-1 or kind=straggler")
    for name, pattern in matchers.items():
        if name not in MATCHED:
            raise ValueError(
                f"unknown matcher {name!r}; expected one of {', '.join(MATCHED)}{suggestion(name, MATCHED)}"
            )
        if not pattern or len(pattern) > 256:
            raise ValueError(f"{name}: expected a name or a pattern such as node-*, up to 256 characters")
        _check_known(name, pattern)
    if all(not pattern.strip("*?") for pattern in matchers.values()):
        raise ValueError("this would silence everything; use a more specific matcher")


def _check_known(name: str, pattern: str) -> None:
    known = _KNOWN.get(name)
    if known is None or any(fnmatchcase(each, pattern) for each in known):
        return
    listed = f"; expected one of {', '.join(known)}" if name == "severity" else "; docs/kinds.md lists all kinds"
    hint = suggestion(pattern, known, most=3, cutoff=0.5) or listed
    raise ValueError(f"no {name} matches {pattern!r}{hint}")
