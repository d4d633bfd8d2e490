"""A job of several ranks and its governor, with a network between them that loses, doubles and reorders messages."""

from random import Random
from typing import TYPE_CHECKING, Any

from flyball.adjustments.exchange import OfferExchange, RankMoment
from flyball.adjustments.value import AdjustableValue

if TYPE_CHECKING:
    from collections.abc import Callable

    from flyball.adjustments.register import Register

CHOICES = (1, 2, 4, 8)
EXPIRES_SECONDS = 30.0
Message = dict[str, Any]


class CommonRegister:
    """The register that the ranks of one job share."""

    def __init__(self) -> None:
        self.kind = "c10d"
        self._decisions: dict[str, str] = {}

    def decide(self, key: str, mine: str) -> str:
        return self._decisions.setdefault(key, mine)

    def peek(self, key: str) -> str:
        return self._decisions.get(key, "")


class LastViewRegister:
    """No register: each rank obeys the messages that it has seen. It shows what the register is for."""

    kind = "c10d"

    def decide(self, key: str, mine: str) -> str:  # noqa: ARG002  the signature of registers
        return mine

    def peek(self, key: str) -> str:  # noqa: ARG002  the signature of registers
        return ""


class SimulatedRank:
    """One rank: its value after each step, and its answers."""

    def __init__(self, register: "Register", tried_first: bool) -> None:
        self.value = AdjustableValue(
            "size",
            1,
            choices=CHOICES,
            safety=2,
            apply=(lambda to: to) if tried_first else None,
            tried_first=tried_first,
        )
        self.exchange = OfferExchange({"size": self.value}, lambda: register)
        self.step = 0
        self.now = 0.0
        self.alive = True
        self.history: list[Any] = [1]
        self.answers: list[Message] = []

    def take(self, message: Message) -> None:
        """Take a message of the governor."""
        if self.alive:
            self._note(self.exchange.take(message, RankMoment(self.step, 0, self.now)))

    def end_step(self) -> None:
        """Come to the next boundary."""
        if self.alive:
            self.step += 1
            self._note(self.exchange.decide(RankMoment(self.step, 0, self.now)))
            self.history.append(self.value.now)

    def _note(self, answer: Message | None) -> None:
        if answer is not None:
            self.answers.append(answer)


class SimulatedJob:
    """Ranks, messages on their way in both directions, and a governor that commits when all ranks are prepared."""

    def __init__(
        self, ranks: int, *, tried_first: bool = False, register: "Callable[[], Register]" = CommonRegister
    ) -> None:
        common = register()
        self.ranks = [SimulatedRank(common, tried_first) for _ in range(ranks)]
        self.messages: list[tuple[int, Message]] = []  # to ranks
        self._returning: list[tuple[int, Message]] = []  # to the governor
        self._prepared: dict[str, set[int]] = {}
        self._offers = 0
        self.committed: set[str] = set()

    def offer(self, to: int, ahead: int) -> str:
        """Offer a value to all ranks, some steps ahead of the fastest of them."""
        self._offers += 1
        offer = str(self._offers)
        at = max(rank.step for rank in self.ranks) + ahead
        fields = {"id": offer, "name": "size", "from": self.ranks[0].value.now, "to": to, "at": at, "attempt": 0}
        self._prepared[offer] = set()
        self._send({"kind": "offer", **fields, "expires_seconds": EXPIRES_SECONDS, "safety": 2})
        return offer

    def withdraw(self, offer: str) -> None:
        """Take an offer back."""
        self._send({"kind": "withdraw", "id": offer, "reason": "cooler"})

    def deliver(self, index: int, *, keep: bool = False) -> None:
        """Deliver a message on its way to a rank, and leave it there if it is doubled."""
        if self.messages:
            place = index % len(self.messages)
            rank, message = self.messages[place] if keep else self.messages.pop(place)
            self.ranks[rank].take(message)
            self._collect()

    def lose(self, index: int) -> None:
        """Lose a message on its way to a rank."""
        if self.messages:
            self.messages.pop(index % len(self.messages))

    def answer(self, index: int, *, lost: bool = False) -> None:
        """Deliver an answer to the governor, or lose it."""
        self._collect()
        if self._returning:
            rank, message = self._returning.pop(index % len(self._returning))
            if not lost:
                self._govern(rank, message)

    def end_step(self, rank: int) -> None:
        """Let one rank come to its next boundary."""
        self.ranks[rank % len(self.ranks)].end_step()
        self._collect()

    def finish(self, steps: int) -> None:
        """Let all ranks come to the same step, far enough for everything to be decided."""
        last = max(rank.step for rank in self.ranks) + steps
        for rank in self.ranks:
            while rank.alive and rank.step < last:
                rank.end_step()

    def split_steps(self) -> list[int]:
        """Return the steps after which two ranks had different values."""
        histories = [rank.history for rank in self.ranks]
        return [
            step
            for step in range(max(map(len, histories)))
            if len({history[step] for history in histories if step < len(history)}) > 1
        ]

    def _send(self, message: Message) -> None:
        self.messages += [(rank, message) for rank in range(len(self.ranks))]

    def _collect(self) -> None:
        for number, rank in enumerate(self.ranks):
            self._returning += [(number, answer) for answer in rank.answers]
            rank.answers.clear()

    def _govern(self, rank: int, message: Message) -> None:
        offer = message["id"]
        if message["kind"] != "prepared" or offer in self.committed:
            return
        self._prepared[offer].add(rank)
        if len(self._prepared[offer]) == len(self.ranks):
            self.committed.add(offer)
            self._send({"kind": "commit", "id": offer})


def disturbed_job(random: Random, ranks: int, offers: int, register: "Callable[[], Register]") -> SimulatedJob:
    """Run a job in which messages are lost, doubled and late, and ranks are at different steps."""
    job = SimulatedJob(ranks, register=register)
    for _ in range(offers):
        job.offer(random.choice(CHOICES), ahead=random.randint(3, 12))
        for _ in range(14 * ranks):
            chance = random.random()
            if chance < 0.55:
                job.deliver(random.randrange(64), keep=random.random() < 0.1)
            if chance < 0.05:
                job.lose(random.randrange(64))
            job.answer(random.randrange(64), lost=random.random() < 0.05)
            slowest = min(rank.step for rank in job.ranks)
            able = [
                number for number, rank in enumerate(job.ranks) if rank.step < slowest + 3
            ]  # a collective holds them
            job.end_step(random.choice(able))
    job.finish(40)
    return job
