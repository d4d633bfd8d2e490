"""Types of a run as lower modules see it. They exist for the type checker alone: importing `typing` takes 13 ms."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol, TypeVar

    from flyball.training.device_times import DeviceTimes

    class OpenRun(Protocol):
        """A run that can be finished."""

        @property
        def name(self) -> str:
            """Return the name."""

        @property
        def is_owned(self) -> bool:
            """Return True if this process has opened the run."""

        def finish(self) -> None:
            """Leave the run."""

        def detach(self) -> None:
            """Stop reporting in a forked process."""

    class PartSink(Protocol):
        """Counts the parts of a step."""

        depth: int
        inner: int
        thread: int
        sampling: DeviceTimes | None

        def add_wait(self, began: int, now: int) -> None:
            """Add waiting for input."""

        def begin_epoch(self, items: object) -> None:
            """Make the changes that wait for an epoch."""

        def add_section(self, name: object, taken: int, outer: int, now: int) -> None:
            """Add the time of a section."""

        def section_of(self, service: object) -> str:
            """Return the section of a service."""

        def add_call(self, service: object, taken: int, failed: bool) -> None:
            """Add a call."""

        def add_level(self, name: object, items: object, seconds: object) -> None:
            """Add the progress of a level."""

    class RunFacts(Protocol):
        """The facts about a run that a summary contains, other than figures."""

        last_step: int

        @property
        def name(self) -> str:
            """Return the name."""

        @property
        def total_steps(self) -> int | None:
            """Return the number of all steps."""

        @property
        def total_samples(self) -> int | None:
            """Return the number of all samples."""

        @property
        def rank(self) -> int:
            """Return the rank."""

        @property
        def world_size(self) -> int:
            """Return the number of ranks."""

        @property
        def attempt(self) -> int:
            """Return the attempt."""

        @property
        def dropped(self) -> int:
            """Return how many values were dropped."""

        @property
        def connected(self) -> bool:
            """Return True while the agent is connected."""

        @property
        def hellos(self) -> int:
            """Return how often the run was introduced to an agent."""

        @property
        def refusal(self) -> str:
            """Return the last error of the agent, if it refused the run."""

    Kind = TypeVar("Kind")

    class Adjustable(Protocol[Kind]):
        """A declared value, as a script reads it."""

        now: Kind
        blocked: str

        @property
        def name(self) -> str:
            """Return its name."""

        @property
        def choices(self) -> tuple[Kind, ...]:
            """Return the values that it may have."""

    class Adjustments(Protocol):
        """The declared values of a run."""

        values: dict[str, Any]
        checkpoints: Any

        def add(self, value: Any) -> Any:
            """Declare a value."""

        def announce(self) -> None:
            """Send the values to the agent again."""

        def allow(self, allowed: bool) -> None:
            """Learn that the agent allows adjustments, or no longer does."""

        def at_epoch(self, action: Callable[[], object]) -> None:
            """Call a function once, when the next epoch begins."""

        def begin_epoch(self, items: object) -> None:
            """Make the changes that wait for an epoch."""

        def declare_loader(self, items: object) -> None:
            """Declare what can be changed of a loader."""

        def changed_locally(self, name: str, value: object) -> None:
            """Set a value that this rank has changed by itself."""

        def note_oom(
            self,
            *,
            step: int,
            where: str,
            name: str = "",
            from_: object = None,
            to: object = None,
            recovered: bool = False,
            retry_seconds: float = 0.0,
        ) -> None:
            """Report that this rank ran out of memory, and what it did about it."""

    class MicroBatching(Protocol):
        """Splits the batch of a step into slices."""

        @property
        def micro(self) -> int:
            """Return the present number of samples in a slice."""

        def accumulate(
            self,
            part: Callable[[Any], Any],
            data: Any,
            *,
            model: Any = None,
            clear: Callable[[], object] | None = None,
            last: bool = True,
        ) -> Any:
            """Call a function with each slice of a batch, and return the sum of its results."""
