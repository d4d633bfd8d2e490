"""Types of a run as lower modules see it. They exist for the type checker alone: importing `typing` takes 13 ms."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from flyball.training.device_times import DeviceTimes

    class OpenRun(Protocol):
        """A run that can be finished."""

        @property
        def name(self) -> str:
            """Return the name."""

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
