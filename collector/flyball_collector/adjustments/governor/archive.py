"""Adjustments in the store: a document for each, for each policy that a person has set, and for the term."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TypeVar

import msgspec
import structlog

from flyball_collector.adjustments.adjustment import Adjustment
from flyball_collector.adjustments.core.book import PolicyChoice
from flyball_collector.adjustments.effect.series import StepSample
from flyball_collector.store.contract import Document, Store
from flyball_collector.timeline.entry_documents import Name, Put

_log = structlog.get_logger(__name__)

ADJUSTMENT = "adjustment"
POLICY = "adjustment_policy"
BEFORE = "adjustment_before"
"""The reports before a change, while its effect is measured: they are needed after a restart of the collector."""

TERM = "adjustment_term"

_SECOND = 10**9
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class StoredAdjustments:
    """Everything that was stored, the oldest first."""

    term: int  # of this start
    adjustments: Sequence[Adjustment]
    choices: Sequence[PolicyChoice]
    before: dict[str, tuple[StepSample, ...]]


def load(store: Store, now_ns: int, keep_ns: int) -> StoredAdjustments:
    """Read what is stored, begin a new term, and delete adjustments that are too old. It blocks."""
    adjustments = _decoded(store.list_documents(ADJUSTMENT), msgspec.json.Decoder(Adjustment).decode)
    old = [each for each in adjustments if each.is_over and each.changed_ns < now_ns - keep_ns]
    if old:
        store.put_documents((), forget=[(ADJUSTMENT, each.id) for each in old])
    gone = {each.id for each in old}
    kept = [each for each in adjustments if each.id not in gone]
    return StoredAdjustments(
        next_term(store, now_ns),
        sorted(kept, key=lambda each: (each.created_ns, each.id)),
        _decoded(store.list_documents(POLICY), msgspec.json.Decoder(PolicyChoice).decode),
        {document.id: samples for document in store.list_documents(BEFORE) if (samples := _samples(document))},
    )


def next_term(store: Store, now_ns: int) -> int:
    """Return a new term: higher than all before.

    It is at least the time in seconds, so that it grows even if the store was lost: agents remember the highest one.
    """
    document = store.get_document(TERM, TERM)
    known = int(document.body) if document is not None and document.body.isdigit() else 0
    term = max(known + 1, now_ns // _SECOND)
    revision = document.revision if document is not None else 0
    store.put_document(TERM, TERM, str(term).encode(), expected=revision)  # two collectors cannot have the same one
    return term


def put_of(adjustment: Adjustment) -> Put:
    """Return the document of an adjustment."""
    return ADJUSTMENT, adjustment.id, msgspec.json.encode(adjustment)


def put_of_choice(choice: PolicyChoice) -> Put:
    """Return the document of a person's policy."""
    return POLICY, choice.run, msgspec.json.encode(choice)


def put_of_before(adjustment: Adjustment, samples: Sequence[StepSample]) -> Put:
    """Return the document with the reports before a change."""
    return BEFORE, adjustment.id, msgspec.json.encode([asdict(each) for each in samples])


def name_of_before(adjustment: Adjustment) -> Name:
    """Return the name of that document."""
    return BEFORE, adjustment.id


def _samples(document: Document) -> tuple[StepSample, ...]:
    try:
        return tuple(msgspec.json.decode(document.body, type=list[StepSample]))
    except msgspec.MsgspecError as error:
        _log.warning("adjustment_damaged", document=document.id, error=str(error))
        return ()


def _decoded(documents: Sequence[Document], decode: Callable[[bytes], _T]) -> list[_T]:
    found = []
    for document in documents:
        try:
            found.append(decode(document.body))
        except msgspec.MsgspecError as error:
            _log.warning("adjustment_damaged", document=document.id, error=str(error))
    return found
