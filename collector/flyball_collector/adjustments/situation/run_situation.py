"""The facts about one run from which the rules of adjustments decide. `None` is unknown and never supports a change."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from flyball_collector.adjustments.adjustment import Value
from flyball_collector.advice.advice import Advice
from flyball_collector.advice.situation import Situation
from flyball_collector.diagnosis.event import Event

SECOND = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFault:
    """A rank ran out of memory. With a name, it changed this value itself."""

    time_ns: int
    rank: int
    where: str = ""  # forward, backward, optimizer or step
    name: str = ""
    value_from: Value | None = None
    value_to: Value | None = None
    recovered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSituation:
    """One run at one moment, with the active conditions of the run, of its hosts and of its GPUs."""

    run: str
    now_ns: int
    active: Mapping[str, tuple[Event, ...]] = field(default_factory=dict)  # by kind
    advice: tuple[Advice, ...] = ()  # about the run or one of its hosts
    faults: tuple[MemoryFault, ...] = ()  # of this attempt
    hosts: tuple[Situation, ...] = ()  # the facts of each host of the run, with its conditions

    world_size: int | None = None
    step_seconds: float | None = None
    total_steps: float | None = None  # of the whole run, as it was announced
    steps_left: float | None = None
    failures: int | None = None  # restarts of the run so far
    hours: float | None = None  # since its first report

    # memory of a rank: the largest peak of any rank in the smallest GPU
    peak_bytes: float | None = None  # of the framework's allocator. It never falls, unless the script resets it.
    memory_total_bytes: float | None = None

    # its GPUs; the one with the least margin
    gpus: int = 0
    gpu_busy_share: float | None = None
    temperature_celsius: float | None = None
    temperature_margin_celsius: float | None = None  # to the temperature at which clocks begin to fall
    slowed_by_heat: bool | None = None
    warming: float | None = None  # degrees a second, of that GPU, over the last seconds
    heat_seconds_left: float | None = None  # by this second's forecast; unknown while none is made

    # calls to services, by all ranks
    calls_per_sample: float | None = None
    call_seconds: float | None = None
    service_share: float | None = None  # of the steps' time

    checkpoint_seconds: float | None = None  # that one checkpoint stops the training
    checkpoint_interval_seconds: float | None = None
    on_battery: bool | None = None  # any of its hosts

    @property
    def now(self) -> float:
        """The time in seconds."""
        return self.now_ns / SECOND

    @property
    def gpus_total(self) -> int:
        """The number of devices that can fail: ranks where no GPU is known."""
        return max(self.gpus, self.world_size or 1)

    def events(self, *kinds: str) -> tuple[Event, ...]:
        """Return the active conditions of these kinds."""
        return tuple(event for kind in kinds for event in self.active.get(kind, ()))

    def has(self, *kinds: str) -> bool:
        """Return True if a condition of one of these kinds is active."""
        return any(self.active.get(kind) for kind in kinds)

    def advised(self, *rules: str) -> tuple[Advice, ...]:
        """Return the current advice of these rules."""
        return tuple(one for one in self.advice if one.rule in rules)
