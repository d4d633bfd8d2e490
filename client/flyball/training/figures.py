"""Sums over the steps of a training since some moment."""

from __future__ import annotations

from flyball.training.texts import MAX_NAME, MAX_SHORT_NAME, clean

MAX_SECTIONS = 32
MAX_CALLS = 32
MAX_LEVELS = 64
"""As many as the agent accepts in one report."""

_KNOWN_NAMES = 256  # a name with a number in it must not fill the memory


class Figures:
    """Sums. Times are in nanoseconds, except those of levels, which users pass in seconds. None is unknown."""

    __slots__ = (
        "calls",
        "levels",
        "nanoseconds",
        "oom_retries",
        "paused",
        "samples",
        "sections",
        "steps",
        "throttled",
        "tokens",
        "wait",
        "waits",
    )

    def __init__(self) -> None:
        self.steps = 0
        self.nanoseconds = 0
        self.waits = 0  # how often input was waited for
        self.wait = 0
        self.throttled = 0  # between steps, and so in none of them
        self.paused = 0  # likewise
        self.oom_retries = 0  # steps that were repeated in smaller slices
        self.tokens: float | None = None
        self.samples: float | None = None
        self.sections: dict[str, int] = {}
        self.calls: dict[str, tuple[int, int, int]] = {}  # service → count, time, errors
        self.levels: dict[str, tuple[float, float]] = {}  # level → items, seconds

    def add(self, later: Figures) -> int:
        """Add what was measured later. Return how many names did not fit."""
        self.steps += later.steps
        self.nanoseconds += later.nanoseconds
        self.waits += later.waits
        self.wait += later.wait
        self.throttled += later.throttled
        self.paused += later.paused
        self.oom_retries += later.oom_retries
        if later.tokens is not None:
            self.tokens = (self.tokens or 0.0) + later.tokens
        if later.samples is not None:
            self.samples = (self.samples or 0.0) + later.samples
        dropped = 0
        for name, taken in later.sections.items():
            dropped += not self.add_section(name, taken)
        for service, call in later.calls.items():
            dropped += not self.add_calls(service, *call)
        for level, progress in later.levels.items():
            dropped += not self.add_level(level, *progress)
        return dropped

    def add_section(self, name: str, taken: int) -> bool:
        """Add time to a section. Return False if there are too many."""
        sections = self.sections
        if name in sections:
            sections[name] += taken
        elif len(sections) < MAX_SECTIONS:
            sections[name] = taken
        else:
            return False
        return True

    def add_calls(self, service: str, count: int, taken: int, errors: int) -> bool:
        """Add calls to a service. Return False if there are too many services."""
        before = self.calls.get(service)
        if before is None:
            if len(self.calls) >= MAX_CALLS:
                return False
            before = (0, 0, 0)
        self.calls[service] = (before[0] + count, before[1] + taken, before[2] + errors)
        return True

    def add_level(self, level: str, items: float, seconds: float) -> bool:
        """Add the progress of a level. Return False if there are too many levels."""
        before = self.levels.get(level)
        if before is None:
            if len(self.levels) >= MAX_LEVELS:
                return False
            before = (0.0, 0.0)
        self.levels[level] = (before[0] + items, before[1] + seconds)
        return True


class Names:
    """The names of sections, services or levels as they are reported. Cleaning one takes longer than a whole step."""

    __slots__ = ("_known", "dropped")

    def __init__(self) -> None:
        self._known: dict[object, str] = {}
        self.dropped = 0  # names that were cut or replaced

    def of(self, name: object) -> str:
        """Return the printable, short form of a name."""
        known = self._known.get(name)
        return self._add(name) if known is None else known

    def _add(self, name: object) -> str:
        short = clean(name, MAX_SHORT_NAME) or "unnamed"
        self.dropped += short != name
        if len(self._known) < _KNOWN_NAMES and isinstance(name, str) and len(name) <= MAX_NAME:
            self._known[name] = short
        return short
