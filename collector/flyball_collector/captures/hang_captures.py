"""The collector's own orders: the stacks of a run's ranks when the run hangs, once for each hang."""

from collections.abc import Callable, Sequence

from flyball_collector.captures.capture import STACKS, Capture
from flyball_collector.captures.orders import CaptureOrders
from flyball_collector.captures.request import CaptureRequest, TooManyCaptures
from flyball_collector.captures.targets import CaptureTarget
from flyball_collector.diagnosis.event import Event, State

MAX_RANKS = 64
"""Of one event, those at the lowest steps first: more stacks add little, and each takes time on its host."""

HANG = "run_hang"
_REMEMBERED = 4096


class HangCaptures:
    """Watches the diagnosis's events."""

    def __init__(self, orders: CaptureOrders, targets: Callable[[str], Sequence[CaptureTarget]]) -> None:
        self._orders = orders
        self._targets = targets  # of a run, the most interesting first
        self._seen: dict[str, None] = {}  # conditions, the oldest first

    def take(self, events: Sequence[Event]) -> list[Capture]:
        """Order the stacks for each new hang. Return the captures."""
        ordered: list[Capture] = []
        for event in events:
            if event.kind.name == HANG and event.state is State.RAISED and event.condition not in self._seen:
                self._remember(event.condition)
                ordered += self._order(event)
        return ordered

    def _order(self, event: Event) -> list[Capture]:
        run = event.subject.run
        targets = [target for target in self._targets(run) if target.connected]
        request = CaptureRequest(run, STACKS, condition=event.condition)
        try:
            return self._orders.order(request, targets[:MAX_RANKS])
        except TooManyCaptures:
            return []

    def _remember(self, condition: str) -> None:
        self._seen[condition] = None
        if len(self._seen) > _REMEMBERED:
            del self._seen[next(iter(self._seen))]
