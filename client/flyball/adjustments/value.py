"""An adjustable value: what a rank declares that Flyball may change, and its present value."""

from __future__ import annotations

from flyball.training.texts import MAX_SHORT_NAME, clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, Protocol

    class ValueOwner(Protocol):
        """Learns what happens to a value between two offers."""

        def announce(self) -> None:
            """Send the values to the agent again."""

        def took_effect(self, value: AdjustableValue, failure: str) -> None:
            """Learn that a change that was decided earlier has taken effect."""


MAX_CHOICES = 64
MAX_FACTS = 16
"""As many as the agent accepts."""

_MAX_WORD = 40  # of levers and of names of facts, likewise
MAX_TEXT = 90  # of a value: the agent accepts 200 characters of JSON, in which one may become two
_MAX_INTEGER = 2**63

SAFETY_CLASSES = (1, 2, 3, 4)
"""1: the mathematics stay as they are; 2: equivalent; 3: other numerics; 4: the training is interrupted."""

BAD_DECLARATION = "bad_declaration"
ONLY_CHOICE = "only_choice"
WHEN = ("step", "epoch", "restart")


class _Later:
    """The type of `LATER`."""

    def __repr__(self) -> str:
        return "LATER"


LATER = _Later()
"""What `apply` returns if the change takes effect later, for example when the loader begins its next epoch."""


class AdjustableValue:
    """A value that all ranks change together, at a boundary between steps. Read `now` as often as you like."""

    __slots__ = (
        "_apply",
        "_blocked",
        "_check",
        "_initial",
        "_owner",
        "at_once",
        "changed",
        "choices",
        "facts",
        "lever",
        "name",
        "now",
        "safety",
        "together",
        "tried_first",
        "when",
    )

    def __init__(
        self,
        name: str,
        initial: Any,
        *,
        choices: Iterable[Any] = (),
        when: str = "step",
        safety: int = 1,
        lever: str = "",
        facts: Mapping[str, str] | None = None,
        apply: Callable[[Any], Any] | None = None,
        check: Callable[[Any], str] | None = None,
        together: bool = False,
        tried_first: bool = False,
        at_once: Callable[[Any], bool] | None = None,
    ) -> None:
        """Declare a value. One that is not valid keeps its initial value, and `blocked` has the reason.

        `apply` makes the change and returns the observed value, None for the new one, or LATER. `check` returns why a
        change is not possible now, or an empty text. With `together`, ranks that differ would wait for each other
        forever, so the value needs a register even in class 1. With `tried_first`, `apply` may raise `Veto`, and is
        called before the ranks decide. `at_once` is true of a change that needs neither a step nor a register.
        """
        self._owner: ValueOwner | None = None
        self._apply = apply
        self._check = check
        self._initial = initial
        self.name = clean(name, MAX_SHORT_NAME)
        self.now = initial
        self.choices = _choices(choices, initial)
        self.when = when
        self.safety = safety
        self.lever = clean(lever, _MAX_WORD)
        self.facts = _facts(facts)
        self.together = together
        self.tried_first = tried_first
        self.at_once = at_once
        self.changed: Callable[[], None] | None = None  # called after each change that all ranks make together
        valid = self.name and None not in self.choices and when in WHEN and safety in SAFETY_CLASSES
        self._blocked = (ONLY_CHOICE if len(self.choices) == 1 else "") if valid else BAD_DECLARATION

    @property
    def is_valid(self) -> bool:
        """Return True if the value can be announced."""
        return self._blocked != BAD_DECLARATION and plain(self.now) is not None

    @property
    def blocked(self) -> str:
        """Return why the value cannot be changed now. An empty text means that it can."""
        return self._blocked

    @blocked.setter
    def blocked(self, reason: str) -> None:
        reason = clean(reason)
        if self._blocked not in {reason, BAD_DECLARATION}:
            self._blocked = reason
            self._announce()

    def set_fact(self, name: str, text: object) -> None:
        """Set a fact that the governor reads, such as the measured cost. None removes it."""
        name = clean(name, _MAX_WORD)
        before = self.facts.get(name)
        if text is None:
            self.facts.pop(name, None)
        elif before is not None or len(self.facts) < MAX_FACTS:
            self.facts[name] = clean(text)
        if self.facts.get(name) != before:
            self._announce()

    def choice(self, value: object) -> Any:
        """Return the choice that equals a value of a message, or None. True is not 1.

        Without choices, it is any value of the same kind.
        """
        for each in self.choices or (plain(value),):
            if each == value and isinstance(each, bool) is isinstance(value, bool):
                return each if self.choices or _kind(each) is _kind(self.now) else None
        return None

    def objection(self, to: object) -> str:
        """Return why the value cannot change to this one now, or an empty text."""
        try:
            found = "" if self._check is None else clean(self._check(to) or "")
            return self._blocked or found  # the check may have found a reason that lasts
        except Exception as error:  # noqa: BLE001  it must not reach the training
            return f"check failed: {clean(repr(error))}"

    def change(self, to: Any) -> Any:
        """Change the value. Return what is true afterwards, or LATER. What the callback raises is raised."""
        observed = to if self._apply is None else self._apply(to)
        if observed is not LATER:
            known = plain(observed)
            self.now = to if known is None else known
            if self.changed is not None:
                self.changed()
        return observed if observed is LATER else self.now

    def took_effect(self, observed: Any = None, failure: str = "") -> None:
        """Report that a change has taken effect for which `apply` returned LATER, or why it has failed."""
        known = plain(observed)
        if known is not None:
            self.now = known
        if self._owner is not None:
            self._owner.took_effect(self, failure)

    def attach(self, owner: ValueOwner) -> None:
        """Report changes to an owner from now on."""
        self._owner = owner

    def is_same_declaration(self, other: AdjustableValue) -> bool:
        """Return True if the other one is this one again. Callbacks belong to the newest declaration."""
        mine, theirs = [
            (each._initial, each.choices, each.when, each.safety, each.lever, each._apply, each._check)
            for each in (self, other)
        ]
        return mine == theirs

    def _announce(self) -> None:
        if self._owner is not None:
            self._owner.announce()

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave the callbacks behind. A copy in another process, such as a loader's worker, keeps the value."""
        return _copy, (self.name, self.now, self.choices, self.when, self.safety, self.lever, dict(self.facts))

    def __repr__(self) -> str:
        return f"<flyball.AdjustableValue {self.name!r} = {self.now!r}>"


def plain(value: Any) -> Any:
    """Return a value that can be sent: a truth value, a finite number or a text. None for everything else."""
    kind = value.__class__
    if kind is bool:
        return value
    if kind is int:
        return value if abs(value) < _MAX_INTEGER else None
    if kind is str:
        return value if len(value) <= MAX_TEXT and value.isprintable() else None
    if kind is float:
        return value if value - value == 0.0 else None
    item = getattr(value, "item", None)  # scalars of NumPy
    if item is None or getattr(value, "device", "cpu") != "cpu" or getattr(value, "shape", ()) != ():
        return None
    found = item()
    return plain(found) if found.__class__ in {bool, int, float} else None


def _kind(value: Any) -> type:
    return float if value.__class__ is int else value.__class__


def _choices(choices: Iterable[Any], initial: Any) -> tuple[Any, ...]:
    """Return the choices, with the initial value among them. None is among them if they are not valid.

    A choice that is left out without notice could be the one that the script was tested with.
    """
    if isinstance(choices, str):  # its letters are hardly meant
        return (None,)
    try:
        given = [plain(each) for each in choices]
    except TypeError:
        return (None,)
    if len(given) > MAX_CHOICES:
        return (None,)
    found = _distinct(given)
    first = plain(initial)
    if found and not any(each == first and isinstance(each, bool) is isinstance(first, bool) for each in found):
        found.insert(0, first)
    return tuple(found) if len(found) <= MAX_CHOICES else (None,)


def _distinct(values: list[Any]) -> list[Any]:
    """Return each value once, in their order. True is not 1."""
    found: dict[tuple[bool, Any], Any] = {}
    for each in values:
        found.setdefault((isinstance(each, bool), each), each)
    return list(found.values())


def _facts(facts: Mapping[str, str] | None) -> dict[str, str]:
    pairs = list((facts or {}).items())[:MAX_FACTS]
    return {clean(name, _MAX_WORD): clean(text) for name, text in pairs}


def _copy(
    name: str, now: Any, choices: tuple[Any, ...], when: str, safety: int, lever: str, facts: dict[str, str]
) -> AdjustableValue:
    return AdjustableValue(name, now, choices=choices, when=when, safety=safety, lever=lever, facts=facts)
