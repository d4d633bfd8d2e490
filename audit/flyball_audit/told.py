"""What a rule finds in each turn: told as it is where the loop is seen, as a note where one is only supposed."""

from collections.abc import Callable, Iterable, Iterator

from flyball_audit.loops import Kind, Turns
from flyball_audit.module import Module
from flyball_audit.project import Project
from flyball_audit.rule import Match
from flyball_audit.unseen import noted


def told(
    module: Module, project: Project, find: Callable[[Project, Turns], Iterable[Match]], *kinds: Kind
) -> Iterator[Match]:
    """`find` looks through the turns of one loop; `kinds` says of which loops."""
    seen = {Kind.STEP: project.loops.training_of, Kind.EVALUATION: project.loops.evaluation_of}
    for kind in kinds:
        for turns in seen[kind](module):
            yield from find(project, turns)
    for kind in kinds:
        for turns in project.loops.supposed_of(module, kind):
            yield from (noted(each, turns.module, turns.node) for each in find(project, turns))
