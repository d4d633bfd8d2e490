"""The parts that the governor uses: streams to agents, the fleet's steps, rules, and a journal of documents."""

from collections.abc import Sequence
from typing import Protocol

from flyball_collector.adjustments.adjustment import Adjustment
from flyball_collector.adjustments.declared.ranks import RunValues
from flyball_collector.adjustments.proposal import Proposal
from flyball_collector.adjustments.situation.run_situation import MemoryFault
from flyball_collector.timeline.entry_documents import Name, Put
from flyball_proto.v1 import adjust_pb2 as pb


class AdjustAgents(Protocol):
    """The agents' streams for adjustments."""

    def send(self, host: str, message: pb.CollectorAdjust) -> bool:
        """Send a message without waiting. Return False if the host has no stream, or its queue is full."""


class NoAdjustAgents:
    """No streams."""

    def send(self, host: str, message: pb.CollectorAdjust) -> bool:  # noqa: ARG002
        """Return False."""
        return False


class ProposalSource(Protocol):
    """The rules."""

    def proposals(
        self,
        values: RunValues,
        faults: Sequence[MemoryFault],
        history: Sequence[Adjustment],
        now_ns: int,
    ) -> Sequence[Proposal] | None:
        """Return what the rules propose for a run, the best first; None if too little is known now."""

    def forget(self, run: str) -> None:
        """Forget a run."""


class NoRules:
    """No rules: only people propose."""

    def proposals(
        self,
        values: RunValues,  # noqa: ARG002
        faults: Sequence[MemoryFault],  # noqa: ARG002
        history: Sequence[Adjustment],  # noqa: ARG002
        now_ns: int,  # noqa: ARG002
    ) -> Sequence[Proposal] | None:
        """Return nothing."""
        return None

    def forget(self, run: str) -> None:
        """Do nothing."""


class DocumentJournal(Protocol):
    """Writes documents in order, and again after a failure."""

    @property
    def failing(self) -> bool:
        """Return True while the store accepts no writes."""

    def add(self, puts: Sequence[Put], forgets: Sequence[Name] = ()) -> None:
        """Queue a change."""
