"""The ways of reporting under which the same episodes are scored: one column of each table."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.benchmarks.labelled.as_reported import AsReported
from tests.benchmarks.labelled.score import Pair


@dataclass(frozen=True, slots=True)
class Way:
    """A way in which a training reports."""

    reports: AsReported
    name: str
    meaning: str


WAYS = (
    Way("client", "client", "the client in the code: `run.data`, `run.call`, `run.mark`, `run.step`"),
    Way("hooks", "`flyball run`", "`flyball run -- COMMAND` alone, without a line in the code"),
    Way("steps", "steps only", "one line in the code, `run.step()`: only the time of steps is known"),
    Way("none", "no reports", "nothing: the agent does not know of the training"),
)

POSSIBLE: dict[str, tuple[AsReported, ...]] = {
    "client": ("client", "hooks", "steps", "none"),
    "hooks": ("hooks", "none"),
    "none": ("none",),
}
"""The ways that recordings of each kind can be scored in: what was not recorded cannot be made up."""


@dataclass(frozen=True, slots=True)
class Column:
    """The episodes as diagnosed with one way of reporting."""

    way: Way
    pairs: Sequence[Pair]
    live: bool = False  # recorded in this way, not rewritten

    @property
    def title(self) -> str:
        """For the head of a table."""
        return f"{self.way.name}, live" if self.live else self.way.name
