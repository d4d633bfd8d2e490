"""The facts that rules can use about one host or run. `None` is unknown; unknown facts never support advice."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.subject import Subject


class WorkerRoom(NamedTuple):
    """The number of additional workers that fit into memory, and the assumption behind it."""

    workers: int
    memory_bytes: float  # for each worker
    shared_bytes: float  # for each worker
    assumed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """One host, or one run if `subject` names no host, with its active conditions. Shares are of a step's time."""

    subject: Subject
    active: Mapping[str, tuple[Event, ...]] = field(default_factory=dict)  # by kind

    # the run
    trains: bool = True  # a run, a training process or a busy GPU is there; otherwise nothing loads data for a training
    run: str = ""
    world_size: int | None = None
    step_seconds: float | None = None
    data_wait_share: float | None = None
    communication_share: float | None = None
    accumulation_steps: int | None = None
    allocated_peak_bytes: float | None = None  # of the framework's allocator, for each GPU
    reserved_peak_bytes: float | None = None

    # its GPUs
    gpus: int = 0
    gpu_busy_share: float | None = None
    waiting_while_idle_share: float | None = None  # of the time: waiting for input while the GPU idled
    gpu_power_share: float | None = None  # of the limit
    gpu_memory_total_bytes: float | None = None
    tensor_active_share: float | None = None
    sm_active_share: float | None = None
    capability: float | None = None

    # the host
    cpu_busy_share: float | None = None
    cores: float | None = None  # that the run may use
    own_cores: float | None = None  # that trainings use
    other_cores: float | None = None  # that all other processes use
    ready_share: float | None = None  # of the time: main threads of trainings were ready to run, without a CPU
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
    checkpoint_seconds: float | None = None  # time that training stops
    checkpoint_interval_seconds: float | None = None
    checkpoint_share: float | None = None

    def has(self, *kinds: str) -> bool:
        """Return True if a condition of one of these kinds is active."""
        return any(kind in self.active for kind in kinds)

    def events(self, *kinds: str) -> tuple[Event, ...]:
        """Return the active conditions of these kinds."""
        return tuple(event for kind in kinds for event in self.active.get(kind, ()))

    def confidence(self, *kinds: str) -> float:
        """Return the highest confidence of the active conditions of these kinds."""
        return max((event.confidence for event in self.events(*kinds)), default=0.0)

    def evidence(self, *names: str) -> float | None:
        """Return the first of these numbers that is in the evidence of any active condition."""
        for name in names:
            for events in self.active.values():
                for event in events:
                    if name in event.evidence:
                        return event.evidence[name]
        return None

    def subject_of(self, events: tuple[Event, ...]) -> Subject:
        """Return the common subject of these events, or the whole host (or run) if they differ."""
        subjects = {event.subject for event in events}
        return subjects.pop() if len(subjects) == 1 else self.subject

    def first_reason(self, events: tuple[Event, ...]) -> str:
        """Return the reason of the first event."""
        return self.reason_of(events[0], events)

    def reason_of(self, event: Event, among: tuple[Event, ...]) -> str:
        """Return the reason of an event, with its subject if the advice is not about this subject alone."""
        alone = self.subject_of(among) == event.subject
        return event.because if alone else f"{event.words()}: {event.because}"

    def gpu_index_of(self, subject: Subject, events: tuple[Event, ...]) -> int | None:
        """Return the number of the subject's GPU from the newest of these events about it."""
        matching = [event for event in events if event.subject == subject]
        return max(matching, key=lambda event: event.time_ns).gpu_index if matching else None

    def subject_words(self, events: tuple[Event, ...]) -> str:
        """Describe the common subject of these events for people."""
        subject = self.subject_of(events)
        return subject.words(self.gpu_index_of(subject, events))

    @property
    def idle_share(self) -> float | None:
        """The share of time in which GPUs idled."""
        return None if self.gpu_busy_share is None else max(0.0, 1.0 - self.gpu_busy_share)

    def recoverable(self, share: float | None) -> float | None:
        """Return the part of a share of waiting during which GPUs idled; without GPUs, the whole share.

        The training launches no work while it waits, but a wait during which the GPU is busy costs nothing.
        """
        if share is None:
            return None
        if not self.gpus:
            return share
        if self.idle_share is None:
            return None
        together = self.waiting_while_idle_share
        return min(share, self.idle_share, 1.0 if together is None else together)
