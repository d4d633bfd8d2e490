"""Names tell what they hold where nothing else does."""

import pytest

from flyball_audit.flow.guesses import Guesses
from flyball_audit.flow.values import Tag
from tests.audit.projects import module_of


@pytest.mark.parametrize(
    ("name", "tag"),
    [("optimizer", Tag.OPTIMIZER), ("actor", Tag.MODEL), ("self", None), ("state", None)],
)
def test_convention_comes_first_and_use_second(name: str, tag: Tag | None) -> None:
    """`actor` is a network because its parameters are asked for; `self` is what its class says."""
    _, module = module_of("def make(actor):\n    self.parameters()\n    return actor.parameters(), optimizer.eval()\n")
    assert Guesses().of(module, name).tags == (frozenset({tag}) if tag else frozenset())
