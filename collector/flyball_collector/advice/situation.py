"""The facts that rules may use about one host or run. `None` is unknown, and an unknown promises nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.subject import Subject


class WorkerRoom(NamedTuple):
    """How many more workers the memory holds, and by what assumption."""

    workers: int
    memory_bytes: float  # a worker
    shared_bytes: float  # a worker
    assumed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """One host (or one run, when `subject` names no host) with what stands for it. Shares are of a step's time."""

    subject: Subject
    active: Mapping[str, tuple[Event, ...]] = field(default_factory=dict)  # by kind

    # the run
    run: str = ""
    world_size: int | None = None
    step_seconds: float | None = None
    data_wait_share: float | None = None
    communication_share: float | None = None
    accumulation_steps: int | None = None
    allocated_peak_bytes: float | None = None  # of the framework's allocator, per GPU
    reserved_peak_bytes: float | None = None

    # its GPUs
    gpus: int = 0
    gpu_busy_share: float | None = None
    waiting_while_idle_share: float | None = None  # of the time: input waited for while the GPU idled
    gpu_power_share: float | None = None  # of the limit
    gpu_memory_total_bytes: float | None = None
    tensor_active_share: float | None = None
    sm_active_share: float | None = None
    capability: float | None = None

    # the host
    cpu_busy_share: float | None = None
    cores: float | None = None  # that may be used
    io_stalled_share: float | None = None
    disk_busy_share: float | None = None
    memory_available_bytes: float | None = None  # the smaller of the host's and the control group's
    memory_total_bytes: float | None = None
    shared_memory_free_bytes: float | None = None
    shared_memory_total_bytes: float | None = None
    workers: int | None = None
    worker_memory_bytes: float | None = None
    worker_shared_memory_bytes: float | None = None
    power_source: str = ""

    # the service that it calls
    call_seconds: float | None = None  # a round trip
    calls_per_sample: float | None = None
    service_share: float | None = None  # of the time, in calls
    pool_wait_share: float | None = None  # of a call, for a connection
    server_queue_share: float | None = None  # of a call, in the server's queue
    connections_opened_per_second: float | None = None

    # its checkpoints
    checkpoint_seconds: float | None = None  # that training stands
    checkpoint_interval_seconds: float | None = None
    checkpoint_share: float | None = None

    def stands(self, *kinds: str) -> bool:
        """Whether a condition of one of these kinds stands."""
        return any(kind in self.active for kind in kinds)

    def events(self, *kinds: str) -> tuple[Event, ...]:
        """What stands of these kinds."""
        return tuple(event for kind in kinds for event in self.active.get(kind, ()))

    def confidence(self, *kinds: str) -> float:
        """Of the surest of them."""
        return max((event.confidence for event in self.events(*kinds)), default=0.0)

    def evidence(self, *names: str) -> float | None:
        """A number behind anything that stands, by the first of these names that is there."""
        for name in names:
            for events in self.active.values():
                for event in events:
                    if name in event.evidence:
                        return event.evidence[name]
        return None

    def about(self, events: tuple[Event, ...]) -> Subject:
        """Whom these events together are about: the one subject, or the host (the run) as a whole."""
        subjects = {event.subject for event in events}
        return subjects.pop() if len(subjects) == 1 else self.subject

    def first_words(self, events: tuple[Event, ...]) -> str:
        """Why the first of these stands."""
        return self.words_of(events[0], events)

    def words_of(self, event: Event, among: tuple[Event, ...]) -> str:
        """Why it stands; with its name, where the advice on all of these is not about that one alone."""
        alone = self.about(among) == event.subject
        return event.because if alone else f"{event.words()}: {event.because}"

    def gpu_index_of(self, subject: Subject, events: tuple[Event, ...]) -> int | None:
        """The number of the GPU that this is about, by the newest of these events that is about the same."""
        told = [event for event in events if event.subject == subject]
        return max(told, key=lambda event: event.time_ns).gpu_index if told else None

    def about_words(self, events: tuple[Event, ...]) -> str:
        """Whom these events together are about, for people."""
        about = self.about(events)
        return about.words(self.gpu_index_of(about, events))

    @property
    def idle_share(self) -> float | None:
        """Share of the time in which GPUs idled."""
        return None if self.gpu_busy_share is None else max(0.0, 1.0 - self.gpu_busy_share)

    def recoverable(self, share: float | None) -> float | None:
        """As much of a share of waiting as GPUs idled at the same time; without GPUs all of it.

        The training launches nothing while it waits, but a wait that the GPU does not notice costs nothing: so the
        share counts only as far as idle time was measured with it.
        """
        if share is None:
            return None
        if not self.gpus:
            return share
        if self.idle_share is None:
            return None
        together = self.waiting_while_idle_share
        return min(share, self.idle_share, 1.0 if together is None else together)
