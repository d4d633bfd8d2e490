"""Tests of adjustable values: what is valid, and what is observed after a change."""

import pickle

import pytest

from flyball import Veto
from flyball.adjustments.value import BAD_DECLARATION, LATER, MAX_CHOICES, AdjustableValue


class Owner:
    """Counts what a value reports."""

    def __init__(self) -> None:
        self.announced = 0
        self.effects: list[str] = []

    def announce(self) -> None:
        self.announced += 1

    def took_effect(self, value: AdjustableValue, failure: str) -> None:
        self.effects.append(f"{value.now} {failure}".strip())


def test_a_value_is_read_as_a_plain_attribute() -> None:
    """The value is the initial one until it changes, and the initial one is among the choices."""
    value = AdjustableValue("calls", 2, choices=(1, 10))
    assert (value.now, value.choices, value.blocked) == (2, (2, 1, 10), "")
    assert value.change(10) == 10
    assert value.now == 10


@pytest.mark.parametrize(
    "declaration",
    [
        {"name": ""},
        {"choices": (1, None)},
        {"choices": (1, float("nan"))},
        {"choices": ((1, 2),)},
        {"choices": (1, 2**63)},
        {"choices": ("a", "line\n")},
        {"choices": ("a", "b" * 91)},
        {"choices": range(MAX_CHOICES + 1)},
        {"choices": 3},
        {"when": "now"},
        {"safety": 5},
    ],
)
def test_a_declaration_that_is_not_valid_never_changes(declaration: dict[str, object]) -> None:
    """A value that is declared wrongly keeps its initial value, and is blocked with the reason."""
    value = AdjustableValue(**({"name": "calls", "initial": 1} | declaration))  # type: ignore[arg-type]  # wrong on purpose
    assert value.now == 1
    assert value.blocked == BAD_DECLARATION
    value.blocked = ""
    assert value.objection(1) == BAD_DECLARATION


@pytest.mark.parametrize(
    ("choices", "given", "expected"),
    [
        ((1, 10), 10, 10),
        ((1, 10), 10.0, 10),
        ((1, 10), True, None),
        ((False, True), 1, None),
        ((False, True), True, True),
        ((1, 10), 5, None),
        ((1, 10), [1], None),
        ((), 7, 7),
        ((), "7", None),
        ((), float("inf"), None),
    ],
)
def test_only_choices_are_accepted(choices: tuple[object, ...], given: object, expected: object) -> None:
    """A value of a message is one of the choices, and True is not 1. Without choices, its kind is that of the value."""
    value = AdjustableValue("calls", choices[0] if choices else 3, choices=choices)
    found = value.choice(given)
    assert found == expected
    assert found.__class__ is expected.__class__


def test_what_the_callback_observes_is_the_value() -> None:
    """The acknowledgement is what the training observes, not what was asked for."""
    value = AdjustableValue("threads", 1, choices=(1, 4), apply=lambda _: 3)
    assert (value.change(4), value.now) == (3, 3)
    assert AdjustableValue("threads", 1, choices=(1, 4), apply=lambda _: None).change(4) == 4


def test_a_callback_that_fails_leaves_the_value() -> None:
    """A veto reaches the caller, and the value stays as it was."""

    def refuse(_: object) -> None:
        raise Veto("compiled model")

    value = AdjustableValue("threads", 1, choices=(1, 4), apply=refuse)
    with pytest.raises(Veto, match="compiled model"):
        value.change(4)
    assert value.now == 1


def test_a_check_that_fails_is_an_objection() -> None:
    """A check that raises is a reason against the change, and raises nothing itself."""

    def check(_: object) -> str:
        raise RuntimeError("no model")

    assert "no model" in AdjustableValue("threads", 1, choices=(1, 4), check=check).objection(4)
    assert (
        AdjustableValue("threads", 1, choices=(1, 4), check=lambda to: "odd" if to == 4 else "").objection(4) == "odd"
    )


def test_reasons_and_facts_are_announced_once() -> None:
    """The agent learns of a new reason or fact, and not of one that is the same."""
    value, owner = AdjustableValue("threads", 1, choices=(1, 4)), Owner()
    value.attach(owner)
    for _ in range(3):
        value.blocked = "compiled"
        value.set_fact("cost_seconds", 3.5)
    assert owner.announced == 2
    value.set_fact("cost_seconds", None)
    assert (owner.announced, value.facts) == (3, {})


def test_a_change_may_take_effect_later() -> None:
    """A value that waits for an epoch keeps its old value until its owner reports the effect."""
    value, owner = AdjustableValue("workers", 1, choices=(1, 4), when="epoch", apply=lambda _: LATER), Owner()
    value.attach(owner)
    assert value.change(4) is LATER
    assert value.now == 1
    value.took_effect(4)
    assert (value.now, owner.effects) == (4, ["4"])


def test_a_copy_in_another_process_keeps_the_value() -> None:
    """A loader's worker can be sent a value: its copy has no callbacks and no owner."""
    value = AdjustableValue("calls", 1, choices=(1, 10), apply=lambda to: to, facts={"a": "b"})
    value.attach(Owner())
    value.change(10)
    copy = pickle.loads(pickle.dumps(value))  # noqa: S301  our own
    assert (copy.name, copy.now, copy.choices, copy.facts) == ("calls", 10, (1, 10), {"a": "b"})


def test_scalars_of_numpy_are_values() -> None:
    """A scalar of NumPy is the number that it holds; an array is not valid."""
    numpy = pytest.importorskip("numpy", reason="NumPy is not installed")
    value = AdjustableValue("calls", 1, choices=(numpy.int64(1), numpy.int64(8)))
    assert value.choices == (1, 8)
    assert AdjustableValue("calls", 1, choices=(1, numpy.zeros(1))).blocked == BAD_DECLARATION
