"""The adjustable values of one run: announces them, and carries offers and answers at the boundaries between steps."""

from __future__ import annotations

from time import perf_counter_ns

from flyball.adjustments.checkpoints import CheckpointSteps
from flyball.adjustments.exchange import OfferExchange, RankMoment
from flyball.adjustments.pause import Pause
from flyball.adjustments.register import find_register
from flyball.adjustments.throttle import Throttle
from flyball.adjustments.value import AdjustableValue, plain
from flyball.training.loaded_modules import loaded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from flyball.adjustments.register import Register
    from flyball.training.run import Run

MAX_VALUES = 64
"""As many as the agent accepts."""

_ANNOUNCE_NS = 30_000_000_000  # again, in case that a message was lost
_POLL_NS = 50_000_000  # while an offer is pending
_SECOND = 1e-9


class RunAdjustments:
    """The values that a run can change, and the offers for them."""

    def __init__(self, run: Run, registers: Callable[[int], Register] = find_register) -> None:
        self.values: dict[str, AdjustableValue] = {}
        self._run = run
        self._registers = registers
        self._exchange = OfferExchange(self.values, self._register, run.policy)
        self._active = run.policy != "off"
        self._due = True  # the values are to be announced
        self._announced = 0  # when
        self._hellos = run.hellos  # when they were announced
        self._ignored = False  # by this agent
        self._kind = ""  # of the register that was announced
        self._polled = 0
        self._waiting = False  # for the next boundary
        self._epoch_actions: list[Callable[[], object]] = []
        self.throttle = Throttle(run)
        self.pause = Pause(run, self)
        self.checkpoints = CheckpointSteps(run, self)
        for kind in ("offer", "commit", "withdraw"):
            run.on_message(kind, self._take)
        run.on_message("ignored", self._note_ignored)
        if self._active:
            self.add(self.throttle.value)
            self.add(self.pause.value)

    def add(self, value: AdjustableValue) -> AdjustableValue:
        """Declare a value, and return the one to use: the same declaration again returns the first one."""
        known = self.values.get(value.name)
        if known is not None and known.is_same_declaration(value):
            return known
        if known is not None or len(self.values) < MAX_VALUES:
            self.values[value.name] = value
            value.attach(self)
            self.announce()
        return value

    def announce(self) -> None:
        """Send the values to the agent again, with the next report."""
        self._due = True

    def allow(self, allowed: bool) -> None:
        """Learn that the agent allows adjustments, or no longer does."""
        self._ignored = not allowed
        self._due = self._due or allowed

    def changed_locally(self, name: str, value: object) -> None:
        """Set a value that this rank has changed by itself, for example after it ran out of memory."""
        known = self.values.get(name)
        found = plain(value)
        if known is not None and found is not None and known.now != found:
            known.now = found
            self.announce()

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
        message: dict[str, Any] = {"kind": "oom", "step": step, "where": where, "recovered": recovered}
        if name:
            message |= {"name": name, "from": plain(from_), "to": plain(to)}
        if recovered:
            self._run.add_oom_retry()
            message["retry_seconds"] = round(retry_seconds, 6)
        if self._active:
            self._run.send_message(message)
            self._run.exchange()  # a rank that is about to raise sends no further report

    def took_effect(self, value: AdjustableValue, failure: str) -> None:
        """Report a change that was decided earlier, and is in effect now."""
        if self._run.is_owned:
            self._answer(self._exchange.take_effect(value, failure, self._moment()))
            self.announce()

    def at_epoch(self, action: Callable[[], object]) -> None:
        """Call a function once, when the next epoch begins."""
        self._epoch_actions.append(action)

    def begin_epoch(self, items: object) -> None:
        """Make the changes that wait for an epoch."""
        actions, self._epoch_actions = self._epoch_actions, []
        for action in actions:
            action()
        self._loaders("begin_epoch", items)

    def declare_loader(self, items: object) -> None:
        """Declare what can be changed of a loader, in the middle of its epoch."""
        self._loaders("declare", items)

    def before_report(self, now: int) -> None:
        """Announce the values if that is due. This is called once a second, and after each decision."""
        run = self._run
        hellos = run.hellos
        if hellos != self._hellos:
            self._hellos, self._ignored, self._due = hellos, False, True
        if not self._active or self._ignored or not run.connected or not run.is_owned:
            return
        kind = self._register().kind
        if self._due or kind != self._kind or now - self._announced >= _ANNOUNCE_NS:
            # The first time, the duration of a step is not known yet, and the governor needs it.
            self._due, self._announced, self._kind = run.step_seconds is None, now, kind
            run.send_message(self._able())

    def finish(self) -> None:
        """Give up what is pending or waits for an epoch, because the run ends."""
        if self._run.is_owned:
            for answer in self._exchange.end(self._moment()):
                self._answer(answer)

    def poll(self) -> None:
        """Exchange messages now, and decide what is due."""
        self._polled = perf_counter_ns()
        self._run.exchange()
        self._decide()

    def _loaders(self, function: str, items: object) -> None:
        """Call a function of the room that knows torch's loaders. An import statement would be a circle."""
        if self._active and hasattr(items, "num_workers") and loaded("torch.utils.data") is not None:
            from importlib import import_module

            getattr(import_module("flyball.levers.loaders"), function)(self, items)

    def _able(self) -> dict[str, Any]:
        run = self._run
        self.pause.refresh()
        return {
            "kind": "able",
            "attempt": run.attempt,
            "group": run.group,
            "policy": run.policy,
            "step": run.last_step,
            "step_seconds": round(run.step_seconds or 0.0, 6),
            "register": self._kind,
            "values": [_described(value) for value in self.values.values() if value.is_valid],
        }

    def _take(self, run: Run, message: dict[str, Any]) -> None:
        """Act on a message of the agent. A forked child never answers."""
        if run.is_owned and not run.finished:
            self._answer(self._exchange.take(message, self._moment()))
            self._wait_for_boundary()

    def _note_ignored(self, run: Run, message: dict[str, Any]) -> None:  # noqa: ARG002  the signature of actions
        self._ignored = self._ignored or message.get("ignored") == "able"

    def _wait_for_boundary(self) -> None:
        """Look at the pending offer at the next boundary. Without one, boundaries cost nothing."""
        if self._exchange.pending is not None and not self._waiting:
            self._waiting = True
            self._run.at_boundary(self._boundary)

    def _boundary(self, run: Run) -> None:
        self._waiting = False
        pending = self._exchange.pending
        if pending is None or run.finished:
            return
        if not run.is_owned:  # a forked child decides nothing
            self._exchange.pending = None
            return
        try:
            if run.last_step >= pending.at or perf_counter_ns() - self._polled >= _POLL_NS:
                self.poll()
            else:
                self._decide()
            if self.pause.value.now:
                self.pause.wait()
        finally:  # a rank that is prepared must come to its decision
            self._wait_for_boundary()

    def _decide(self) -> None:
        answer = self._exchange.decide(self._moment())
        if answer is not None:
            self._answer(answer)
            self.announce()  # also of a change that was tried and refused: its function may have changed something
            self.before_report(perf_counter_ns())  # an agent that sends older values again would seem to be restarted
            self._run.exchange()

    def _answer(self, answer: dict[str, Any] | None) -> None:
        if answer is not None:
            self._run.send_message(answer)

    def _moment(self) -> RankMoment:
        return RankMoment(self._run.last_step, self._run.attempt, perf_counter_ns() * _SECOND)

    def _register(self) -> Register:
        return self._registers(self._run.world_size)


def _described(value: AdjustableValue) -> dict[str, Any]:
    return {
        "name": value.name,
        "value": value.now,
        "choices": list(value.choices),
        "safety": value.safety,
        "when": value.when,
        "lever": value.lever,
        "facts": value.facts,
        "blocked": value.blocked,
    }
