"""Takes what agents send: declarations, answers and memory faults of ranks, by streams and by records."""

from flyball_collector.adjustments.core.answer_messages import answer_of, answer_of_outcome, fault_of, fault_of_outcome
from flyball_collector.adjustments.core.core import AdjustmentCore
from flyball_collector.adjustments.declared.ranks import WrongDeclaration, able_rank
from flyball_collector.adjustments.governor.delivery import Delivery
from flyball_collector.adjustments.governor.measuring import Measuring
from flyball_collector.adjustments.governor.parts import ProposalSource
from flyball_collector.adjustments.situation.run_situation import MemoryFault
from flyball_proto.v1 import adjust_pb2 as pb
from flyball_proto.v1 import telemetry_pb2


class Inbox:
    """Passes on what is valid. What follows from it is in the core's outbox."""

    def __init__(self, core: AdjustmentCore, measuring: Measuring, delivery: Delivery, rules: ProposalSource) -> None:
        self._core = core
        self._measuring = measuring
        self._delivery = delivery
        self._rules = rules

    def take(self, host: str, message: pb.AgentAdjust, now_ns: int) -> str:
        """Take a message of an agent. Return what was wrong with it; empty if nothing."""
        match message.WhichOneof("kind"):
            case "able":
                return self._take_able(host, message.able, now_ns)
            case "left":
                self._core.left(host, message.left, now_ns)
            case "answer":
                return self._take_answer(host, message.answer, now_ns)
            case "out_of_memory":
                oom = message.out_of_memory
                self._take_memory_fault(host, oom.run, oom.step, fault_of(oom, now_ns))
        return ""

    def take_outcome(self, host: str, outcome: telemetry_pb2.AdjustmentOutcome, now_ns: int) -> None:
        """Take an outcome from a host's record."""
        if outcome.outcome == "out_of_memory":
            self._take_memory_fault(host, outcome.run, outcome.step, fault_of_outcome(outcome, now_ns))
        elif (answer := answer_of_outcome(outcome)) is not None:
            self._take_answer(host, answer, now_ns)

    def _take_able(self, host: str, message: pb.Able, now_ns: int) -> str:
        try:
            rank = able_rank(host, message, now_ns)
        except WrongDeclaration as error:
            return f"rank {message.rank} of run {message.run[:80]!r}: {error}"
        before = self._core.ables.newest(rank.run)
        taken = self._core.able(rank, now_ns)
        if taken and before is not None and (before.attempt, before.group) != (rank.attempt, rank.group):
            self._measuring.faults.forget(rank.run)
            self._rules.forget(rank.run)
        return "" if taken else f"rank {rank.rank} of run {rank.run!r} was not taken: another host or attempt has it"

    def _take_answer(self, host: str, message: pb.Answer, now_ns: int) -> str:
        answer = answer_of(message, now_ns)
        if answer is None:
            return "an answer without a known verdict, or with a value that is not JSON"
        if self._core.answer(host, message, answer):
            return ""
        return f"an answer to {message.id[:32]!r}, which was not asked"

    def _take_memory_fault(self, host: str, run: str, step: int, fault: MemoryFault) -> None:
        if self._measuring.take_fault(host, run, step, fault):
            self._delivery.note_effect(run)
