"""Declares values, callbacks and checkpoints of a script. Nothing here reaches the training as an exception."""

from __future__ import annotations

from itertools import islice

from flyball.adjustments.checkpoints import DEFAULT_STEPS, MeasuredCheckpoint
from flyball.adjustments.declaration_faults import OF_EVERY_RUN, fault_of
from flyball.adjustments.restart_state import can_remember, remember, remembered
from flyball.adjustments.value import LATER, MAX_CHOICES, AdjustableValue
from flyball.adjustments.veto import Veto

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from flyball.training.run import Run

_LEVERS = (
    ("worker", "workers"),
    ("pool", "pool"),
    ("connection", "pool"),
    ("cache", "pool"),
    ("batch", "calls_per_batch"),
    ("calls", "calls_per_batch"),
)
"""Words in the name of a value, and the standard change that it is."""

NO_RESTART = "no_restart"
"""Nobody keeps a value for the next start: the run was not started by `flyball run --max-restarts`."""

NO_EPOCH = "the script does not iterate over run.data, so no epoch begins"


def declare(
    run: Run,
    name: str,
    initial: Any,
    choices: Iterable[Any],
    when: str,
    safety: int,
    lever: str,
    facts: Mapping[str, str] | None,
) -> AdjustableValue:
    """Declare a value of a run."""
    options: dict[str, Any] = {"when": when, "safety": safety, "lever": lever, "facts": facts}
    if when == "restart":
        options["apply"] = lambda to: _keep(run, name, to)
    value = _valid_value(run, name, initial, choices=choices, **options)
    if when == "restart":
        _begin_as_kept(run, value)
    if not value.lever and safety == 1 and value.choices:
        value.lever = next((known for word, known in _LEVERS if word in value.name.lower()), "")
    return _add(run, value)


def callback(
    run: Run, name: str, choices: Iterable[Any], initial: Any, safety: int, when: str, lever: str
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Return a decorator that declares a function as the way to make a change."""

    def decorate(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        options: dict[str, Any] = {"choices": choices, "when": when, "safety": safety, "lever": lever}
        if when == "epoch":
            options["apply"] = waiting = EpochCallback(run, function)
            options["check"] = waiting.check
        else:
            options |= {"apply": function, "tried_first": True}
        value = _valid_value(run, name, initial, first_choice=initial is None, **options)
        if when == "epoch":
            waiting.value = value
        _add(run, value)
        return function

    return decorate


class EpochCallback:
    """Calls a script's function when the next epoch begins, after all ranks have decided."""

    def __init__(self, run: Run, function: Callable[[Any], Any]) -> None:
        self._run = run
        self._function = function
        self.value: AdjustableValue | None = None

    def __call__(self, to: Any) -> object:
        self._run.adjustments.at_epoch(lambda: self._begin(to))
        return LATER

    def check(self, _: object) -> str:
        """Return why the function would never be called, or an empty text."""
        return "" if self._run.measures_data else NO_EPOCH

    def _begin(self, to: Any) -> None:
        if self.value is None:
            return
        try:
            observed, failure = self._function(to), ""
        except Veto as veto:
            observed, failure = self.value.now, str(veto) or "vetoed"
        except Exception as error:  # noqa: BLE001  it must not reach the training
            observed, failure = self.value.now, f"callback failed: {error!r}"
        self.value.took_effect(to if observed is None else observed, failure)


def should_checkpoint(run: Run, every: int = DEFAULT_STEPS) -> bool:
    """Return True if a checkpoint is due after this step."""
    try:
        return run.adjustments.checkpoints.is_due(every)  # type: ignore[no-any-return]  # a protocol without its class
    except Exception:  # noqa: BLE001  it must not reach the training
        run.add_dropped()
        return False


def checkpoint_wanted(run: Run) -> bool:
    """Return True if somebody asked for a checkpoint after this step."""
    try:
        return run.adjustments.checkpoints.is_wanted()  # type: ignore[no-any-return]  # a protocol without its class
    except Exception:  # noqa: BLE001  it must not reach the training
        run.add_dropped()
        return False


def checkpoint(run: Run) -> MeasuredCheckpoint:
    """Return a context manager that measures a checkpoint."""
    return MeasuredCheckpoint(run, run.adjustments.checkpoints)


def _valid_value(run: Run, name: str, initial: Any, *, first_choice: bool = False, **options: Any) -> AdjustableValue:
    """Return a value. What is wrong with its declaration is counted, and then it never changes."""
    try:
        if not isinstance(options["choices"], str):
            options["choices"] = tuple(islice(options["choices"], MAX_CHOICES + 1))
        if first_choice:
            initial = options["choices"][0]
        value = AdjustableValue("" if name in OF_EVERY_RUN else name, initial, **options)
    except Exception:  # noqa: BLE001  it must not reach the training
        value = AdjustableValue("", initial)
    if not value.is_valid:
        run.add_dropped()
        _warn(name, lambda: fault_of(name, initial, options))
    return value


def _warn(name: object, fault: Callable[[], str]) -> None:
    """Warn at the line of the declaration. Where warnings are errors, the training still goes on."""
    import warnings

    try:
        warnings.warn(f"flyball: the value {name!r} cannot be adjusted: {fault()}", stacklevel=5)
    except Exception:  # noqa: BLE001  it must not reach the training
        return


def _begin_as_kept(run: Run, value: AdjustableValue) -> None:
    """Begin with what an earlier start has kept."""
    kept = value.choice(remembered(run.name, value.name))
    if kept is not None:
        value.now = kept
    if not can_remember():
        value.blocked = NO_RESTART


def _keep(run: Run, name: str, to: Any) -> Any:
    """Keep a change for the next start."""
    if not remember(run.name, name, to):
        raise Veto("the value cannot be written for the next start")
    return to


def _add(run: Run, value: AdjustableValue) -> AdjustableValue:
    if not value.name:
        return value
    try:
        known: AdjustableValue = run.adjustments.add(value)
        if run.adjustments.values.get(value.name) is not known:
            run.add_dropped()
            _warn(value.name, lambda: "too many values are declared")
        return known
    except Exception:  # noqa: BLE001  it must not reach the training
        run.add_dropped()
        return value
