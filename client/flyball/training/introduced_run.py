"""The facts about a run that do not depend on its steps."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flyball.training.introduction import Introduction


class IntroducedRun:
    """A run as its introduction to the agent describes it."""

    __slots__ = ("_introduction",)

    def __init__(self, introduction: Introduction) -> None:
        self._introduction = introduction

    @property
    def name(self) -> str:
        """Return the name of the run."""
        return self._introduction.name

    @property
    def total_steps(self) -> int | None:
        """Return the number of steps of the whole training, if it is known."""
        return self._introduction.total_steps

    @property
    def total_samples(self) -> int | None:
        """Return the number of samples of the whole training, if it is known."""
        return self._introduction.total_samples

    @property
    def rank(self) -> int:
        """Return the rank of this process."""
        return self._introduction.identity.rank

    @property
    def world_size(self) -> int:
        """Return the number of ranks."""
        return self._introduction.identity.world_size

    @property
    def attempt(self) -> int:
        """Return how often the run was started again, or went back to an earlier step."""
        return self._introduction.identity.attempt

    @property
    def group(self) -> str:
        """Return the job of the launcher or scheduler."""
        return self._introduction.identity.group

    @property
    def policy(self) -> str:
        """Return which adjustments the training accepts: off, ask or auto."""
        return self._introduction.policy
