"""The ranks that can change values: what each has declared last, by run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from flyball_collector.adjustments.adjustment import Value
from flyball_collector.adjustments.values import WrongValue, parse_value, same_value
from flyball_proto.v1 import adjust_pb2 as pb

MAX_RANKS = 65_536
MAX_VALUES = 64
MAX_CHOICES = 64
MAX_FACTS = 32
POLICIES = ("off", "ask", "auto")
REGISTERS = ("c10d", "local", "none")

_LONGEST_NAME = 200
_SECOND = 10**9

RECENT_SECONDS = 60.0
FORGET_AFTER_SECONDS = 300.0
"""A rank repeats its declaration every 30 s. One that has not done so for this long has gone without a word."""


class WrongDeclaration(ValueError):
    """A rank's declaration cannot be used. The message has the fault."""


@dataclass(frozen=True, slots=True)
class RankValue:
    """One adjustable value of one rank."""

    name: str
    value: Value
    choices: tuple[Value, ...] = ()  # empty: any value of the same type
    safety: int = 1
    when: str = "step"
    lever: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    blocked: str = ""

    def allows(self, to: Value) -> bool:
        """Return True if the rank has declared this value as a choice."""
        if self.choices:
            return any(same_value(to, choice) for choice in self.choices)
        return _kind(to) is _kind(self.value)


def _kind(value: Value) -> type:
    return float if type(value) is int else type(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class AbleRank:
    """A rank that can change values."""

    host: str
    run: str
    attempt: int
    rank: int
    world_size: int
    pid: int
    uid: int = 0
    group: str = ""
    policy: str = "ask"
    register: str = "none"
    step: int = 0
    step_seconds: float | None = None
    values: Mapping[str, RankValue]
    received_ns: int = 0


@dataclass(frozen=True, slots=True)
class RunValues:
    """The ranks of the newest attempt of a run, in order, with their values."""

    run: str
    ranks: tuple[AbleRank, ...]

    @property
    def attempt(self) -> int:
        """Return the attempt."""
        return self.ranks[0].attempt

    @property
    def world_size(self) -> int:
        """Return the number of ranks that the run has in all."""
        return max(rank.world_size for rank in self.ranks)

    @property
    def is_complete(self) -> bool:
        """Return True if every rank of the run is here, once."""
        return [rank.rank for rank in self.ranks] == list(range(self.world_size))

    @property
    def missing(self) -> list[int]:
        """Return the ranks that declare nothing."""
        known = {rank.rank for rank in self.ranks}
        return [rank for rank in range(self.world_size) if rank not in known]

    @property
    def hosts(self) -> tuple[str, ...]:
        """Return the hosts of the ranks."""
        return tuple(dict.fromkeys(rank.host for rank in self.ranks))

    @property
    def group(self) -> str:
        """Return the job that the client found in its environment."""
        return self.ranks[0].group

    @property
    def policy(self) -> str:
        """Return the policy of the client: the most careful of its ranks."""
        return min((rank.policy for rank in self.ranks), key=POLICIES.index)

    @property
    def register(self) -> str:
        """Return how the ranks agree at a step; `none` if they differ."""
        registers = {rank.register for rank in self.ranks}
        return registers.pop() if len(registers) == 1 else "none"

    @property
    def step(self) -> int:
        """Return the highest step that a rank had reached when it declared its values."""
        return max(rank.step for rank in self.ranks)

    @property
    def step_seconds(self) -> float | None:
        """Return the duration of a step of the slowest rank, if any is known."""
        return max((rank.step_seconds for rank in self.ranks if rank.step_seconds is not None), default=None)

    @property
    def received_ns(self) -> int:
        """Return when the newest declaration came."""
        return max(rank.received_ns for rank in self.ranks)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the values that any rank has declared."""
        return tuple(dict.fromkeys(name for rank in self.ranks for name in rank.values))

    def of(self, name: str) -> dict[int, RankValue]:
        """Return a value of each rank that has declared it, by rank."""
        return {rank.rank: rank.values[name] for rank in self.ranks if name in rank.values}

    def value(self, name: str) -> RankValue | None:
        """Return a value as the first rank has declared it; None if no rank has."""
        return next(iter(self.of(name).values()), None)

    def with_lever(self, lever: str) -> tuple[str, ...]:
        """Return the names of the values that are this standard change."""
        return tuple(name for name in self.names if (value := self.value(name)) is not None and value.lever == lever)


class AbleRuns:
    """All ranks with adjustable values. A host without a stream has none until its agent declares them again."""

    def __init__(self) -> None:
        self._runs: dict[str, dict[int, AbleRank]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def put(self, rank: AbleRank) -> bool:
        """Add or replace a rank. Return False if it is not taken.

        Another user, another host and an older attempt have no part in a run whose ranks repeat their declarations.
        """
        ranks = self._runs.get(rank.run, {})
        newest = self.newest(rank.run)
        if newest is not None and _has_no_part(rank, newest):
            return False
        known = ranks.get(rank.rank)
        if newest is not None and _another_job(rank, newest):
            self._count -= len(ranks)
            ranks, known = {}, None
        if known is None:
            if self._count >= MAX_RANKS:
                return False
            self._count += 1
        elif known.host != rank.host and _is_recent(known, rank):
            return False
        elif _is_older(rank, known):
            return True
        ranks.pop(rank.rank, None)
        ranks[rank.rank] = rank  # behind all others: the last one is the newest
        self._runs[rank.run] = ranks
        return True

    def left(self, host: str, message: pb.Left) -> bool:
        """Remove a rank whose process has left the run. Return False if it was not known."""
        known = self._runs.get(message.run, {}).get(message.rank)
        if known is None or (known.host, known.pid) != (host, message.pid):
            return False
        self._remove(known)
        return True

    def host_lost(self, host: str) -> list[AbleRank]:
        """Remove the ranks of a host whose stream has ended. Return them."""
        gone = [rank for rank in self._all() if rank.host == host]
        for rank in gone:
            self._remove(rank)
        return gone

    def forget_old(self, now_ns: int) -> list[AbleRank]:
        """Remove the ranks that have not repeated their declaration for long. Return them."""
        before = now_ns - int(FORGET_AFTER_SECONDS * _SECOND)
        gone = [rank for rank in self._all() if rank.received_ns < before]
        for rank in gone:
            self._remove(rank)
        return gone

    def run(self, name: str) -> RunValues | None:
        """Return the values of a run; None if none of its ranks has any."""
        ranks = self._runs.get(name)
        return RunValues(name, tuple(ranks[number] for number in sorted(ranks))) if ranks else None

    def rank(self, run: str, rank: int) -> AbleRank | None:
        """Return one rank. A run may have thousands, and each declares itself often: do not look through all for it."""
        return self._runs.get(run, {}).get(rank)

    def newest(self, run: str) -> AbleRank | None:
        """Return the rank that has declared itself last. All have the same attempt, group and number of ranks."""
        ranks = self._runs.get(run)
        return next(reversed(ranks.values())) if ranks else None

    def runs(self) -> Sequence[str]:
        """Return the names of the runs with adjustable values."""
        return tuple(self._runs)

    def set_value(self, run: str, rank: int, name: str, value: Value, step: int = 0) -> None:
        """Note a change that a rank has reported, at a step, before it declares its values again."""
        known = self._runs.get(run, {}).get(rank)
        if known is not None and name in known.values:
            changed = {**known.values, name: replace(known.values[name], value=value)}
            self._runs[run][rank] = replace(known, values=changed, step=max(known.step, step))

    def _all(self) -> list[AbleRank]:
        return [rank for ranks in self._runs.values() for rank in ranks.values()]

    def _remove(self, rank: AbleRank) -> None:
        ranks = self._runs.get(rank.run, {})
        if ranks.pop(rank.rank, None) is not None:
            self._count -= 1
        if not ranks:
            self._runs.pop(rank.run, None)


def _another_job(one: AbleRank, known: AbleRank) -> bool:
    """Return True if a rank belongs to a later start than those that are known."""
    return (one.attempt, one.group, one.world_size) != (known.attempt, known.group, known.world_size)


def _has_no_part(rank: AbleRank, newest: AbleRank) -> bool:
    """Return True for a rank of an older attempt, or of another user: names of runs are free to choose."""
    if rank.attempt < newest.attempt and rank.group == newest.group:
        return True
    return rank.uid != newest.uid and _is_recent(newest, rank)


def _is_recent(known: AbleRank, now: AbleRank) -> bool:
    """Return True if a rank has declared itself, or should have done so, a short time before another one."""
    return now.received_ns - known.received_ns < RECENT_SECONDS * _SECOND


def _is_older(rank: AbleRank, known: AbleRank) -> bool:
    """Return True if a declaration of the same process was made before the known one, and came late."""
    late = rank.received_ns - known.received_ns < 20 * _SECOND
    return rank.pid == known.pid and rank.step < known.step and late


def able_rank(host: str, message: pb.Able, now_ns: int) -> AbleRank:
    """Return a declaration as our own value. Raise `WrongDeclaration` if it cannot be used."""
    if not message.run or len(message.run) > _LONGEST_NAME:
        raise WrongDeclaration("the run has no name, or one that is too long")
    if message.rank >= max(1, message.world_size):
        raise WrongDeclaration(f"rank {message.rank} of {message.world_size}")
    if len(message.values) > MAX_VALUES:
        raise WrongDeclaration(f"{len(message.values)} values; the limit is {MAX_VALUES}")
    seconds = message.step_seconds
    return AbleRank(
        host=host,
        run=message.run,
        attempt=message.attempt,
        rank=message.rank,
        world_size=max(1, message.world_size),
        pid=message.pid,
        uid=message.uid,
        group=message.group[:_LONGEST_NAME],
        policy=message.policy if message.policy in POLICIES else "ask",
        register=message.register if message.register in REGISTERS else "none",
        step=message.step,
        step_seconds=seconds if 0.0 < seconds < float("inf") else None,
        values={value.name: value for value in _values(message)},
        received_ns=now_ns,
    )


def _values(message: pb.Able) -> Iterator[RankValue]:
    for each in message.values:
        if not each.name or len(each.name) > _LONGEST_NAME:
            raise WrongDeclaration("a value has no name, or one that is too long")
        if len(each.choices) > MAX_CHOICES or len(each.facts) > MAX_FACTS:
            raise WrongDeclaration(f"{each.name}: more than {MAX_CHOICES} choices or {MAX_FACTS} facts")
        if not 1 <= each.safety <= 4:
            raise WrongDeclaration(f"{each.name}: safety {each.safety}; expected a class from 1 to 4")
        try:
            value, choices = parse_value(each.value), tuple(map(parse_value, each.choices))
        except WrongValue as error:
            raise WrongDeclaration(f"{each.name}: {error}") from None
        yield RankValue(
            each.name,
            value,
            choices,
            each.safety,
            each.when or "step",
            each.lever[:_LONGEST_NAME],
            {key[:_LONGEST_NAME]: each.facts[key][:_LONGEST_NAME] for key in each.facts},
            each.blocked[:_LONGEST_NAME],
        )
