"""Predicts how many more loader workers fit, before they are advised."""

from flyball_collector.advice.settings import AdviceSettings
from flyball_collector.advice.situation import Situation, WorkerRoom


def room_for_workers(situation: Situation, settings: AdviceSettings) -> WorkerRoom | None:
    """Return how many more workers fit into RAM and /dev/shm with the reserve; None if either is unknown."""
    s = situation
    known = (
        s.memory_available_bytes,
        s.memory_total_bytes,
        s.shared_memory_free_bytes,
        s.shared_memory_total_bytes,
    )
    if any(value is None for value in known):
        return None
    available, total, shared_free, shared_total = (float(value) for value in known if value is not None)
    reserve = settings.memory_reserve_share
    measured = s.worker_memory_bytes is not None
    memory = max(s.worker_memory_bytes or settings.worker_memory_bytes, 1.0)
    measured_shared = s.worker_shared_memory_bytes
    shared = settings.worker_shared_memory_bytes if measured_shared is None else measured_shared
    fit = (available - reserve * total) / (memory + shared)  # /dev/shm uses RAM too
    if shared > 0:
        fit = min(fit, (shared_free - reserve * shared_total) / shared)
    return WorkerRoom(max(0, int(fit)), memory, float(shared), not (measured and measured_shared is not None))


def more_workers(situation: Situation, settings: AdviceSettings) -> tuple[int, WorkerRoom] | None:
    """Return how many workers to add: limited by memory, idle cores and the settings; None for none."""
    room = room_for_workers(situation, settings)
    if room is None or situation.cores is None or situation.cpu_busy_share is None:
        return None
    processes = max(situation.gpus, 1)
    most = settings.most_workers * processes - (situation.workers or 0)
    idle_cores = int(situation.cores * max(0.0, 1.0 - situation.cpu_busy_share))
    added = min(room.workers, most, max(idle_cores, 0))
    return (added, room) if added >= 1 else None
