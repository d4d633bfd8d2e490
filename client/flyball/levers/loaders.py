"""Workers and prefetching of torch's DataLoader, changed where an epoch begins. The order of samples stays."""

from __future__ import annotations

import os
from _weakref import ref

from flyball.adjustments.value import LATER, AdjustableValue
from flyball.levers.worker_trial import workers_start
from flyball.training.loaded_modules import loaded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from flyball.training.protocols import Adjustments

WORKERS, PREFETCH = "loader_workers", "loader_prefetch"
_WORKER_CHOICES = (0, 1, 2, 4, 8, 16, 32)
_PREFETCH_CHOICES = (1, 2, 4, 8)
_DEFAULT_PREFETCH = 2  # torch's own, if there are workers and nothing else was passed
_SMALL_SHARED_MEMORY = 64 << 20  # what Docker gives a container without --shm-size; batches of workers travel in it


def is_loader(items: object) -> bool:
    """Return True for a DataLoader of torch, also inside of Accelerate's."""
    return _torch_loader(items) is not None


def declare(adjustments: Adjustments, items: object) -> LoaderValues | None:
    """Declare the numbers of the loader that trains. Return None for anything else than a loader of torch."""
    loader = _torch_loader(items)
    if loader is None:
        return None
    known = getattr(adjustments.values.get(WORKERS), "loader_values", None)
    if isinstance(known, LoaderValues):
        known.follow(loader)
        return known
    if WORKERS in adjustments.values or PREFETCH in adjustments.values:
        return None  # the script has a value of its own with this name
    values = LoaderValues(loader)
    adjustments.add(values.workers)
    adjustments.add(values.prefetch)
    return values


def begin_epoch(adjustments: Adjustments, items: object) -> None:
    """Make the changes that were decided, because this loader begins again. Call it before its iterator is made."""
    values = declare(adjustments, items)
    if values is not None and values.is_of(_torch_loader(items)):
        values.begin_epoch()


def withdraw(adjustments: Adjustments) -> None:
    """Take the values back, because the training with this loader has ended."""
    for name in (WORKERS, PREFETCH):
        value = adjustments.values.get(name)
        if isinstance(value, LoaderValue):
            value.blocked = "not_training"
            del adjustments.values[name]


class LoaderValues:
    """The two values of one loader. The loader itself is not kept alive."""

    def __init__(self, loader: Any) -> None:
        self._loader = ref(loader)
        self._decided: dict[str, Any] = {}  # for the next epoch
        self._failed = False  # the data set cannot be read in another process
        self._prefetch = int(loader.prefetch_factor or _DEFAULT_PREFETCH)
        self.workers = LoaderValue(
            self,
            WORKERS,
            loader.num_workers,
            choices=worker_choices(loader.num_workers, available_cpus(), 1 if loader.persistent_workers else 0),
            facts=_facts(loader, "may change in augmentations"),
            apply=self._decide_workers,
            check=self._against_workers,
        )
        self.prefetch = LoaderValue(
            self,
            PREFETCH,
            self._prefetch,
            choices=tuple(sorted({*_PREFETCH_CHOICES, self._prefetch})),
            facts=_facts(loader, "unchanged"),
            apply=self._decide_prefetch,
            check=self._against_prefetch,
        )
        self._note_reasons()

    def follow(self, loader: Any) -> None:
        """Use a loader that the script has made in place of one that is gone, with the numbers that were decided."""
        known = self._loader()
        if known is not None:
            return  # the same one, or one beside it, such as that of an evaluation
        self._loader = ref(loader)
        if self.workers.was_changed:
            self._set_workers(self.workers.now)
        if self.prefetch.was_changed:
            self._set_prefetch(self.prefetch.now)
        self._note_reasons()

    def is_of(self, loader: Any) -> bool:
        """Return True for the loader that these values belong to."""
        return self._loader() is loader

    def begin_epoch(self) -> None:
        """Make the changes that were decided since the last epoch began."""
        decided, self._decided = self._decided, {}
        if WORKERS in decided:
            observed = self._set_workers(decided[WORKERS])
            self.workers.took_effect(observed, "workers_failed" if self._failed else "")
        if PREFETCH in decided:
            self.prefetch.took_effect(self._set_prefetch(decided[PREFETCH]))

    def _decide_workers(self, to: Any) -> object:
        self._decided[WORKERS] = to
        return LATER

    def _decide_prefetch(self, to: Any) -> object:
        self._decided[PREFETCH] = to
        return LATER

    def _note_reasons(self) -> None:
        loader = self._loader()
        self.workers.blocked = self._reason_against_workers(loader)
        self.prefetch.blocked = _reason_against_prefetch(loader)

    def _against_workers(self, to: object) -> str:
        loader = self._loader()
        more = loader is not None and isinstance(to, int) and to > loader.num_workers
        return self._reason_against_workers(loader) or ("shared_memory" if more and _shared_memory_is_small() else "")

    def _reason_against_workers(self, loader: Any) -> str:
        if self._failed:
            return "workers_failed"
        if loader is not None and _is_iterable_style(loader):
            return "iterable_dataset"  # each worker reads its own part: another number gives another order
        return reason_against(loader)

    def _against_prefetch(self, _: object) -> str:
        return _reason_against_prefetch(self._loader())

    def _set_workers(self, to: Any) -> int | None:
        """Set the number for iterators that are made from now on, and return what the loader has then."""
        loader = self._loader()
        if loader is None:
            return None
        if to != loader.num_workers:
            if not loader.num_workers and not workers_start(loader):
                self._failed = True
            else:
                _end_persistent_workers(loader)
                loader.num_workers = to
                loader.prefetch_factor = self._prefetch if to else None  # torch refuses copies with one without workers
        self._note_reasons()
        return int(loader.num_workers)

    def _set_prefetch(self, to: Any) -> int | None:
        loader = self._loader()
        if loader is None:
            return None
        if loader.num_workers and to != loader.prefetch_factor:
            _end_persistent_workers(loader)
            loader.prefetch_factor = self._prefetch = to
        return int(loader.prefetch_factor) if loader.prefetch_factor is not None else None


class LoaderValue(AdjustableValue):
    """A value of a loader. It takes effect at the next iterator."""

    def __init__(self, owner: LoaderValues, name: str, initial: int, **more: Any) -> None:
        super().__init__(name, initial, when="epoch", safety=1, lever=name, **more)
        self.loader_values = owner
        self._of_script = initial

    @property
    def was_changed(self) -> bool:
        """Return True if another value than the script's is in use."""
        return bool(self.now != self._of_script)


def worker_choices(current: int, cpus: int, lowest: int) -> tuple[int, ...]:
    """Return numbers of workers for a rank that may use so many CPUs."""
    return tuple(sorted({current, *(each for each in _WORKER_CHOICES if lowest <= each <= cpus)}))


def available_cpus() -> int:
    """Return the CPUs of this process, shared with the other ranks of this host."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    ranks = os.environ.get("LOCAL_WORLD_SIZE", "")
    return max(1, cpus // max(1, int(ranks) if ranks.isdecimal() else 1))


def reason_against(loader: Any) -> str:
    """Return why neither number of a loader can be changed, or nothing."""
    if loader is None:
        return "loader_gone"
    torch_loader = _class_of_torch()
    if (
        type(loader).__iter__ is not torch_loader.__iter__
        or type(loader)._get_iterator is not torch_loader._get_iterator
    ):
        return "custom_loader"  # such as one whose workers live for ever, or whose state is saved for each worker
    if loader.persistent_workers and not hasattr(loader, "_iterator"):
        return "persistent_workers"
    return ""


def _reason_against_prefetch(loader: Any) -> str:
    return reason_against(loader) or ("" if loader.num_workers else "no_workers")


def _end_persistent_workers(loader: Any) -> None:
    """Let the next epoch start new workers. The old ones end with their iterator, which has reached its end.

    An iterator that is made draws the seed of its workers from the generator that shuffles, too. Here the seed comes
    from that of the old workers, so that later epochs are shuffled as without the change.
    """
    if not loader.persistent_workers or loader._iterator is None:
        return
    torch = loaded("torch")
    seed = torch.Generator().manual_seed(getattr(loader._iterator, "_base_seed", 0) + 1) if torch is not None else None
    make = loader._get_iterator

    def make_once() -> Any:
        del loader._get_iterator
        own, loader.generator = loader.generator, seed
        try:
            return make()
        finally:
            loader.generator = own

    loader._iterator = None
    loader._get_iterator = make_once


def _torch_loader(items: Any) -> Any:
    """Return the loader whose numbers count: Accelerate's passes attributes on when they are read, not when set."""
    torch_loader = _class_of_torch()
    if torch_loader is None:
        return None
    for each in (items, getattr(items, "base_dataloader", None)):
        if torch_loader in type(each).__mro__:
            return each
    return None


def _class_of_torch() -> Any:
    data = loaded("torch.utils.data")
    return getattr(data, "DataLoader", None)


def _is_iterable_style(loader: Any) -> bool:
    data = loaded("torch.utils.data")
    return data is not None and isinstance(loader.dataset, data.IterableDataset)


def _shared_memory_is_small() -> bool:
    try:
        found = os.statvfs("/dev/shm")  # noqa: S108  the place itself is asked, nothing is written
    except OSError:
        return False
    return found.f_blocks * found.f_frsize <= _SMALL_SHARED_MEMORY


def _batches_of(loader: Any) -> int | None:
    """Return the number of batches in an epoch, or None for a stream without an end."""
    try:
        return len(loader)
    except (TypeError, NotImplementedError):
        return None


def _facts(loader: Any, random_numbers: str) -> dict[str, str]:
    """Return what a rule or a person has to know before changing a number."""
    facts = {
        "order": "unchanged" if getattr(loader, "in_order", True) else "not fixed",
        "random_numbers": random_numbers,
        "cpus": str(available_cpus()),
    }
    batches = _batches_of(loader)
    if batches is not None:
        facts["epoch_batches"] = str(batches)
    if loader.persistent_workers:
        facts["persistent_workers"] = "started again, their caches are empty"
    return facts
