"""Parts of a step: sections, calls to services, levels, and waiting for input."""

from __future__ import annotations

from _thread import get_ident
from time import perf_counter_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from flyball.training.protocols import PartSink


class RunSection:
    """A block whose time is counted under a name. Time in an inner section counts for the inner one alone."""

    __slots__ = ("_began", "_name", "_outer", "_run")

    def __init__(self, run: PartSink, name: object) -> None:
        self._run = run
        self._name = name

    def __enter__(self) -> None:
        run = self._run
        if run.sampling is not None:
            run.sampling.enter(run.depth)
        self._outer = run.inner
        run.inner = 0
        run.depth += 1
        self._began = perf_counter_ns()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        now = perf_counter_ns()
        self._run.add_section(self._name, now - self._began, self._outer, now)


class ServiceCall:
    """One call to a service. Calls of other threads run beside the steps, and so they belong to no section."""

    __slots__ = ("_began", "_run", "_section", "_service")

    def __init__(self, run: PartSink, service: object) -> None:
        self._run = run
        self._service = service
        self._section: RunSection | None = None

    def __enter__(self) -> None:
        if get_ident() == self._run.thread:
            self._section = RunSection(self._run, self._run.section_of(self._service))
            self._section.__enter__()
        self._began = perf_counter_ns()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        taken = perf_counter_ns() - self._began
        if self._section is not None:
            self._section.__exit__(kind, error, trace)
        self._run.add_call(self._service, taken, kind is not None)


class RunLevel:
    """One level of a hierarchical learner."""

    __slots__ = ("_name", "_run")

    def __init__(self, run: PartSink, name: object) -> None:
        self._run = run
        self._name = name

    def add(self, items: float, seconds: float | None = None) -> None:
        """Add items that were learned, and the time that it took if it is known."""
        self._run.add_level(self._name, items, seconds)


class MeasuredIterator:
    """The items of an iterator. The time until each arrives is waiting for input."""

    __slots__ = ("_items", "_next", "_run")

    def __init__(self, items: Iterator[object], run: PartSink) -> None:
        self._items = items
        self._next = items.__next__
        self._run = run

    def __iter__(self) -> MeasuredIterator:
        return self

    def __next__(self) -> object:
        began = perf_counter_ns()
        item = self._next()
        self._run.add_wait(began, perf_counter_ns())
        return item

    def __length_hint__(self) -> int:
        hint = getattr(self._items, "__length_hint__", None)
        return int(hint()) if hint is not None else 0

    def __getattr__(self, name: str) -> object:
        return getattr(object.__getattribute__(self, "_items"), name)


class MeasuredData:
    """A loader or another iterable. Each of its iterators is measured, and everything else passes through."""

    __slots__ = ("_items", "_run")

    def __init__(self, items: object, run: PartSink) -> None:
        self._items = items
        self._run = run

    def __iter__(self) -> MeasuredIterator:
        self._run.begin_epoch(self._items)
        return MeasuredIterator(iter(self._items), self._run)  # type: ignore[call-overload]  # what cannot iterate raises

    def __len__(self) -> int:
        return len(self._items)  # type: ignore[arg-type]  # what has no length raises

    def __bool__(self) -> bool:
        return bool(self._items)

    def __getitem__(self, key: object) -> object:
        return self._items[key]  # type: ignore[index]  # what has no items raises

    def __getattr__(self, name: str) -> object:
        return getattr(object.__getattribute__(self, "_items"), name)
