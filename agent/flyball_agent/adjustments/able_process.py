"""A process that can change values, and the offers that were passed to it."""

from collections import OrderedDict
from dataclasses import dataclass, field

from flyball_agent.runs.adjustment_messages import MAX_CHOICES, AbleMessage, text_of
from flyball_agent.runs.environment import clean
from flyball_agent.runs.json_values import value_key
from flyball_agent.runs.messages import POLICIES, Hello
from flyball_agent.runs.registry import SocketPeer
from flyball_proto.v1 import adjust_pb2 as adjust

REGISTERS = ("c10d", "local", "none")
MAX_OFFERS = 64
"""Offers of one process that are remembered, so that late answers are accepted."""

MAX_UNKNOWN_ANSWERS = 16
"""Answers of one process to offers of an earlier start of the agent."""


@dataclass(slots=True)
class PassedOffer:
    """An offer that was passed to a process."""

    id: str
    name: str
    value_from: str  # JSON texts
    value_to: str
    deadline: float  # until then, no other offer is passed; later answers are still accepted
    prepared: bool = False
    committed: bool = False  # the rank decides at its step; it refuses other offers itself until then
    over: bool = False

    def is_open(self, now: float) -> bool:
        """Return True while the process may still act on it."""
        return not self.over and now < self.deadline


@dataclass(frozen=True, slots=True)
class DeclaredChoices:
    """Names what a process may be offered for one of its values."""

    choices: set[tuple[type, object]]  # empty: any value of the same type
    had: set[tuple[type, object]]  # each value that it had

    def allow(self, value: str) -> bool:
        """Return True if this JSON text may be offered."""
        key = value_key(value)
        if key in self.choices or key in self.had:
            return True
        return not self.choices and key[0] in {kind for kind, _ in self.had}


@dataclass(slots=True)
class AbleProcess:
    """The values that one process can change, as it declared them."""

    peer: SocketPeer
    able: adjust.Able
    declared: dict[str, DeclaredChoices] = field(default_factory=dict)  # by name
    offers: OrderedDict[str, PassedOffer] = field(default_factory=OrderedDict)
    unknown_answers: int = 0

    @property
    def key(self) -> tuple[SocketPeer, str, int]:
        """Return what the process is in the list of waiting messages: its connection, run and rank."""
        return self.peer, self.able.run, self.able.rank

    def declare(self, able: adjust.Able) -> None:
        """Take a new declaration. Values that the process had before stay allowed, because a change may be undone."""
        self.able = able
        before, self.declared = self.declared, {}
        for value in able.values:
            had = before[value.name].had if value.name in before else set()
            choices = {value_key(choice) for choice in value.choices}
            had = {*(had if len(had) < MAX_CHOICES else ()), value_key(value.value)}
            self.declared[value.name] = DeclaredChoices(choices, had)

    def refusal(self, name: str, value_to: str, now: float) -> str:
        """Return why an offer must not be passed to the process, or an empty text."""
        if name not in self.declared:
            return "unknown_value"
        if not self.declared[name].allow(value_to):
            return "not_a_choice"
        waits = any(offer.is_open(now) and not offer.committed for offer in self.offers.values())
        return "busy" if waits else ""

    def remember(self, offer: PassedOffer) -> None:
        """Keep an offer until its answers have come. One that waits for an epoch is kept longer than those after it."""
        self.offers[offer.id] = offer
        if len(self.offers) > MAX_OFFERS:
            del self.offers[next((id_ for id_, each in self.offers.items() if each.over), next(iter(self.offers)))]

    def accepts_unknown(self) -> bool:
        """Count an answer to an offer that this agent has not passed on. Return False beyond the limit."""
        self.unknown_answers += 1
        return self.unknown_answers <= MAX_UNKNOWN_ANSWERS


def able_of(peer: SocketPeer, hello: Hello, message: AbleMessage) -> adjust.Able:
    """Return the message for the collector. The process id and user id come from the kernel."""
    policy = message.policy or hello.policy or ""
    able = adjust.Able(
        run=hello.run,
        attempt=attempt_of(hello, message),
        rank=hello.rank,
        world_size=hello.world_size,
        pid=peer.pid,
        uid=peer.uid,
        group=message.group or clean((hello.group or "").encode()),
        policy=policy if policy in POLICIES else "",
        register=message.register if message.register in REGISTERS else "none",
        step=message.step,
        step_seconds=message.step_seconds or 0.0,
    )
    for value in message.values:
        able.values.add(
            name=value.name,
            value=text_of(value.value),
            choices=[text_of(choice) for choice in value.choices],
            safety=value.safety,
            when=value.when,
            lever=value.lever,
            facts=value.facts,
            blocked=value.blocked,
        )
    return able


def attempt_of(hello: Hello, message: AbleMessage) -> int:
    """Return the attempt of a declaration: its own, or that of the hello."""
    return message.attempt if message.attempt is not None else hello.attempt or 0
