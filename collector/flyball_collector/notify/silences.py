"""Silences: what nobody wants to be told of, until when, by whom and why."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase

import msgspec

from flyball_collector.diagnosis.kinds import BY_NAME, Severity
from flyball_collector.notify.words import labels
from flyball_collector.timeline.entry import Entry

SILENCE = "silence"
"""The kind of their documents."""

MATCHED = ("kind", "severity", "host", "gpu", "run", "rank", "resource", "alertname")
LONGEST_SECONDS = 366 * 86400.0


class Silence(msgspec.Struct, frozen=True, kw_only=True):
    """All its matchers must fit: a name, and what it must be; `*` and `?` stand for anything."""

    id: str
    matchers: dict[str, str]
    created_ns: int
    until_ns: int
    by: str = ""
    comment: str = ""

    def fits(self, entry: Entry) -> bool:
        """Whether it speaks of this entry, its time apart."""
        told = labels(entry)
        told["host"] = told.pop("instance", "")
        return all(fnmatchcase(told.get(name, ""), pattern) for name, pattern in self.matchers.items())


class Silences:
    """Those in force. Who adds or ends one stores that first."""

    def __init__(self) -> None:
        self._silences: dict[str, Silence] = {}

    def load(self, bodies: Iterable[bytes]) -> None:
        """Take over what is stored; what is damaged silences nothing."""
        for body in bodies:
            try:
                silence = msgspec.json.decode(body, type=Silence)
            except msgspec.MsgspecError:
                continue
            self._silences[silence.id] = silence

    def add(self, silence: Silence) -> None:
        """Silence from now on."""
        self._silences[silence.id] = silence

    def remove(self, id_: str) -> bool:
        """Speak again; false when there is none."""
        return self._silences.pop(id_, None) is not None

    def active(self, now_ns: int) -> list[Silence]:
        """Those in force, the first to end first."""
        return sorted((s for s in self._silences.values() if s.until_ns > now_ns), key=lambda silence: silence.until_ns)

    def over(self, now_ns: int) -> list[Silence]:
        """Those that have ended."""
        return [silence for silence in self._silences.values() if silence.until_ns <= now_ns]

    def silence_of(self, entry: Entry, now_ns: int) -> Silence | None:
        """What silences an entry."""
        return next((silence for silence in self.active(now_ns) if silence.fits(entry)), None)


_KNOWN = {"kind": tuple(BY_NAME), "severity": tuple(each.word for each in Severity)}
"""Closed lists: what fits none of theirs would silence nothing, ever."""


def check_matchers(matchers: Mapping[str, str]) -> None:
    """Raise `ValueError` that says what is wrong."""
    if not matchers:
        raise ValueError("a silence needs a matcher, such as host=node-1 or kind=straggler")
    for name, pattern in matchers.items():
        if name not in MATCHED:
            raise ValueError(f"{name!r} is nothing to match by; expected one of {', '.join(MATCHED)}")
        if not pattern or len(pattern) > 256:
            raise ValueError(f"{name}: expected a name or a pattern such as node-*, of at most 256 characters")
        _check_known(name, pattern)
    if all(not pattern.strip("*?") for pattern in matchers.values()):
        raise ValueError("this would silence everything; name what is not to be told")


def _check_known(name: str, pattern: str) -> None:
    known = _KNOWN.get(name)
    if known is None or any(fnmatchcase(each, pattern) for each in known):
        return
    alike = get_close_matches(pattern, known, n=3, cutoff=0.5)
    raise ValueError(f"no {name} fits {pattern!r}" + (f"; did you mean {', '.join(alike)}?" if alike else ""))
