"""Delivers what follows from an event: messages to agents, documents to the store, changes to listeners."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import structlog

from flyball_collector.adjustments.adjustment import Adjustment, AdjustmentState
from flyball_collector.adjustments.core.book import RunBook
from flyball_collector.adjustments.core.core import AdjustmentCore
from flyball_collector.adjustments.effect.effect_watch import EffectWatch
from flyball_collector.adjustments.governor import archive
from flyball_collector.adjustments.governor.parts import AdjustAgents, DocumentJournal, NoAdjustAgents
from flyball_collector.adjustments.limits import AT_ONCE

if TYPE_CHECKING:
    from flyball_collector.timeline.entry_documents import Name, Put

_log = structlog.get_logger(__name__)

Listener = Callable[[Adjustment], None]


class Delivery:
    """Empties the core's outbox. It knows the run of each adjustment."""

    def __init__(self, core: AdjustmentCore, journal: DocumentJournal, effects: EffectWatch) -> None:
        self.agents: AdjustAgents = NoAdjustAgents()
        self.listeners: list[Listener] = []
        self.followers: list[Callable[[str], object]] = []
        self.run_of: dict[str, str] = {}  # by adjustment
        self._core = core
        self._journal = journal
        self._effects = effects

    def find(self, adjustment: str) -> Adjustment | None:
        """Return an adjustment by its id."""
        book = self._core.books.get(self.run_of.get(adjustment, ""))
        return book.adjustments.get(adjustment) if book is not None else None

    def flush(self) -> None:
        """Send, store and report what has followed from the last events."""
        outbox = self._core.outbox
        changed, outbox.changed = outbox.changed, []
        loud, outbox.loud = outbox.loud, []
        messages, outbox.messages = outbox.messages, []
        if changed:
            self._note_effects(changed)
            self._store(changed)
        for host, message in messages:
            if not self.agents.send(host, message):
                _log.info("adjustment_message_not_sent", host=host, kind=message.WhichOneof("kind"))
        for adjustment in loud:
            _log.error(
                "adjustment_failed",
                id=adjustment.id,
                run=adjustment.run,
                name=adjustment.name,
                reason=adjustment.reason,
                remedy="look at the run's values; set them by `flyball adjust set`",
            )
        for adjustment in changed:
            for listener in self.listeners:
                listener(adjustment)

    def store_answers(self) -> None:
        """Store what has only another answer since it was stored. Call it once a second, and at the end."""
        answered = [found for each in self._core.outbox.answered if (found := self.find(each)) is not None]
        if answered:
            self._store(answered)
        self._core.outbox.answered.clear()

    def note_effect(self, run: str) -> None:
        """Report that a change has taken effect in a run."""
        for follower in self.followers:
            follower(run)

    def delete_old(self, before_ns: int) -> None:
        """Delete adjustments, and policies of people, that are older."""
        forgets: list[Name] = []
        for book in self._core.books.values():
            over = [each for each in book.adjustments.values() if each.is_over and each.id not in book.take_backs]
            for each in [each for each in over if each.changed_ns < before_ns]:
                del book.adjustments[each.id]
                self.run_of.pop(each.id, None)
                forgets.append((archive.ADJUSTMENT, each.id))
            if self._is_old_choice(book, before_ns):
                book.choice = None
                forgets.append((archive.POLICY, book.run))
        if forgets:
            self._journal.add((), forgets)

    def _is_old_choice(self, book: RunBook, before_ns: int) -> bool:
        return book.choice is not None and book.choice.time_ns < before_ns and self._core.ables.run(book.run) is None

    def _note_effects(self, changed: Sequence[Adjustment]) -> None:
        for adjustment in changed:
            if adjustment.state is AdjustmentState.APPLIED and adjustment.decisions[-1].what == "applied":
                self._effects.changed(adjustment)
                if adjustment.lever not in AT_ONCE:  # these rest between steps, and change no step
                    self.note_effect(adjustment.run)

    def _store(self, changed: Sequence[Adjustment]) -> None:
        puts: list[Put] = []
        forgets: list[Name] = []
        for adjustment in {each.id: each for each in changed}.values():
            self.run_of[adjustment.id] = adjustment.run
            puts.append(archive.put_of(adjustment))
            book = self._core.books.get(adjustment.run)
            if book is not None and book.adjustments.get(adjustment.id) is adjustment:
                self._core.outbox.answered.discard(adjustment.id)
            if book is not None and book.watch is not None and book.watch.id == adjustment.id:
                puts.append(archive.put_of_before(adjustment, self._effects.before(adjustment)))
            elif adjustment.is_over:
                forgets.append(archive.name_of_before(adjustment))
        self._journal.add(puts, forgets)
