"""Tests of the workers and the prefetching of torch's DataLoader, with real worker processes."""

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from flyball.adjustments.run_adjustments import RunAdjustments
from flyball.levers import loaders
from flyball.levers.worker_trial import workers_start
from flyball.training.run import Run
from tests.client.adjustments.adjusting_agent import AdjustingAgent

torch = pytest.importorskip("torch", reason="torch is not installed")
data = torch.utils.data

Opened = Callable[..., tuple[AdjustingAgent, Run]]

ROWS = 12


class Rows:
    """Numbered rows, and the process that has read each."""

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, number: int) -> tuple[int, int]:
        return number, os.getpid()


class RowsOfThisProcess(Rows):
    """Rows that another process cannot read, as with an open connection or a tensor on a GPU."""

    def __init__(self) -> None:
        self.process = os.getpid()

    def __getitem__(self, number: int) -> tuple[int, int]:
        if os.getpid() != self.process:
            raise RuntimeError("this connection belongs to another process")
        return super().__getitem__(number)


class RowsThatHang(RowsOfThisProcess):
    """Rows that another process waits for, as with a lock that a thread of the parent held."""

    def __getitem__(self, number: int) -> tuple[int, int]:
        if os.getpid() != self.process:
            time.sleep(60)
        return number, os.getpid()


class Stream(data.IterableDataset):  # type: ignore[misc, name-defined]  # torch is not followed
    """Rows in the order in which a worker gives them."""

    def __iter__(self) -> Iterator[int]:
        return iter(range(ROWS))


def loader(rows: Any = None, *, seed: int = 5, **options: Any) -> Any:
    """Return a loader that shuffles with a generator of its own."""
    generator = torch.Generator().manual_seed(seed)
    return data.DataLoader(Rows() if rows is None else rows, batch_size=3, shuffle=True, generator=generator, **options)


def epoch(items: Any) -> tuple[list[list[int]], int]:
    """Return the numbers of each batch, and how many other processes have read them."""
    batches = list(items)
    readers = {int(process) for _, processes in batches for process in processes}
    return [[int(number) for number in numbers] for numbers, _ in batches], len(readers - {os.getpid()})


def change(run: Run, name: str, to: int) -> None:
    """Decide a change as all ranks have."""
    value = run.adjustments.values[name]
    assert value.objection(to) == ""
    value.change(to)


@pytest.fixture
def cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with enough CPUs for the choices of a test."""
    monkeypatch.setattr(loaders, "available_cpus", lambda: 4)


@pytest.mark.usefixtures("cpus")
@pytest.mark.parametrize("persistent", [False, True])
def test_another_number_of_workers_acts_at_the_next_epoch_and_keeps_the_order(
    adjusted: Opened, persistent: bool
) -> None:
    """The epoch in progress keeps its worker; later ones have two and one, and the batches of an undisturbed loader."""
    _, run = adjusted()
    options = {"num_workers": 1, "persistent_workers": persistent}
    undisturbed = loader(**options)
    expected = [epoch(undisturbed)[0] for _ in range(4)]
    adjusted_loader = loader(**options)
    items = run.data(adjusted_loader)
    _adjustments(run)  # exist from here on
    seen = [epoch(items)]
    iterator = iter(items)
    first = next(iterator)
    change(run, "loader_workers", 2)
    numbers, readers = epoch([first, *iterator])
    seen += [(numbers, readers), epoch(items)]
    change(run, "loader_workers", 1)
    seen.append(epoch(items))
    assert [numbers for numbers, _ in seen] == expected
    assert [readers for _, readers in seen] == [1, 1, 2, 1]
    assert run.adjustments.values["loader_workers"].now == 1


@pytest.mark.usefixtures("cpus")
def test_the_protocol_ends_when_the_change_has_taken_effect(adjusted: Opened) -> None:
    """All ranks decide at the step, and the agent gets `applied` with what the loader has at the next epoch."""
    agent, run = adjusted()
    items = run.data(loader())
    epoch(items)
    run.step()
    agent.allow()
    run.step()
    run.step()
    assert {"loader_workers", "loader_prefetch"} < set(agent.values())
    assert agent.values()["loader_workers"]["when"] == "epoch"
    offer = agent.offer("loader_workers", 0, 1, at=run.last_step + 3)
    run.step()
    agent.commit(offer)
    for _ in range(3):
        run.step()
    assert [line["kind"] for line in agent.answers(offer)] == ["prepared"]
    assert epoch(items)[1] == 1
    run.step()
    applied = agent.answers(offer)[-1]
    assert (applied["kind"], applied["observed"]) == ("applied", 1)
    assert agent.values()["loader_prefetch"]["blocked"] == ""  # there are workers now


@pytest.mark.usefixtures("cpus")
def test_a_data_set_that_another_process_cannot_read_stays_without_workers(adjusted: Opened) -> None:
    """The trial fails, the epoch is read as before, and the agent gets the reason with the old number."""
    agent, run = adjusted()
    undisturbed = loader()
    expected = [epoch(undisturbed) for _ in range(2)]
    items = run.data(loader(RowsOfThisProcess()))
    assert epoch(items) == expected[0]
    run.step()
    agent.allow()
    run.step()
    offer = agent.offer("loader_workers", 0, 2, at=run.last_step + 3)
    run.step()
    agent.commit(offer)
    for _ in range(3):
        run.step()
    assert epoch(items) == expected[1]
    run.step()
    applied = agent.answers(offer)[-1]
    assert (applied["observed"], applied["reason"]) == (0, "workers_failed")
    assert run.adjustments.values["loader_workers"].objection(2) == "workers_failed"


def test_the_trial_gives_up_on_a_worker_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that gives no sample in time is ended, and the loader stays without workers."""
    monkeypatch.setattr(torch.utils.data._utils, "MP_STATUS_CHECK_INTERVAL", 0.2)  # torch waits so long at its end
    assert not workers_start(loader(RowsThatHang()), seconds=0.5)


def test_the_trial_leaves_random_numbers_and_the_loader_alone() -> None:
    """The generators of the script and of the loader are where they were, and so is the order of samples."""
    torch.manual_seed(3)
    tried, untried = loader(), loader()
    before = torch.get_rng_state()
    assert workers_start(tried)
    assert torch.equal(torch.get_rng_state(), before)
    assert (tried.num_workers, tried.prefetch_factor) == (0, None)
    assert epoch(tried) == epoch(untried)


@pytest.mark.usefixtures("cpus")
def test_prefetching_changes_at_the_next_epoch(adjusted: Opened) -> None:
    """Each worker reads more batches ahead from the next epoch on; without workers the value is blocked."""
    _, run = adjusted()
    adjusted_loader = loader(num_workers=1)
    items = run.data(adjusted_loader)
    loaders.declare(_adjustments(run), adjusted_loader)
    change(run, "loader_prefetch", 4)
    assert adjusted_loader.prefetch_factor == 2
    assert epoch(items)[0] == epoch(loader())[0]
    assert adjusted_loader.prefetch_factor == 4
    change(run, "loader_workers", 0)
    epoch(items)
    assert run.adjustments.values["loader_prefetch"].blocked == "no_workers"
    assert adjusted_loader.prefetch_factor is None  # torch refuses to copy a loader with one and without workers
    change(run, "loader_workers", 1)
    epoch(items)
    assert adjusted_loader.prefetch_factor == 4


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        (lambda: data.DataLoader(Stream(), batch_size=3, num_workers=1), "iterable_dataset"),
        (lambda: OwnIterator(Rows(), batch_size=3), "custom_loader"),
    ],
)
def test_loaders_whose_order_or_workers_are_not_torchs_are_blocked(
    adjusted: Opened, items: Callable[[], Any], reason: str
) -> None:
    """A stream is divided among its workers, and a class with an iterator of its own may keep its workers for ever."""
    _, run = adjusted()
    values = loaders.declare(_adjustments(run), items())
    assert values is not None
    assert values.workers.objection(2) == reason


class OwnIterator(data.DataLoader):  # type: ignore[misc, name-defined]  # torch is not followed
    """A loader whose iterator is not that of torch."""

    def __iter__(self) -> Any:
        return super().__iter__()


@pytest.mark.usefixtures("cpus")
def test_more_workers_need_shared_memory(adjusted: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a /dev/shm of Docker's default size, more workers are refused and fewer are not."""
    _, run = adjusted()
    items = loader(num_workers=2)
    loaders.declare(_adjustments(run), items)
    workers = run.adjustments.values["loader_workers"]
    assert workers.objection(4) == ""
    monkeypatch.setattr(loaders, "_SMALL_SHARED_MEMORY", 2**62)
    assert (workers.objection(4), workers.objection(1)) == ("shared_memory", "")


@pytest.mark.usefixtures("cpus")
def test_a_loader_that_is_made_for_each_epoch_keeps_the_number(adjusted: Opened) -> None:
    """The script drops its loader and makes another one with its own number: the decided one is used."""
    _, run = adjusted()
    items = loader(num_workers=1)
    loaders.declare(_adjustments(run), items)
    change(run, "loader_workers", 2)
    run.begin_epoch(items)
    del items
    second = loader(num_workers=1)
    assert epoch(run.data(second))[1] == 2
    assert run.adjustments.values["loader_workers"].now == 2


@pytest.mark.usefixtures("cpus")
def test_the_loader_of_an_evaluation_stays_as_it_is(adjusted: Opened) -> None:
    """The values belong to the first loader as long as it lives."""
    _, run = adjusted()
    training, evaluation = loader(num_workers=1), loader(num_workers=1)
    loaders.declare(_adjustments(run), training)
    change(run, "loader_workers", 2)
    epoch(run.data(evaluation))
    assert (training.num_workers, evaluation.num_workers) == (1, 1)
    epoch(run.data(training))
    assert (training.num_workers, evaluation.num_workers) == (2, 1)


@pytest.mark.parametrize(
    ("current", "available", "lowest", "choices"),
    [(0, 2, 0, (0, 1, 2)), (6, 4, 0, (0, 1, 2, 4, 6)), (3, 1, 1, (1, 3)), (2, 64, 1, (1, 2, 4, 8, 16, 32))],
)
def test_choices_stay_within_the_cpus(current: int, available: int, lowest: int, choices: tuple[int, ...]) -> None:
    """No choice exceeds the CPUs of the rank, except for the script's own number; persistent workers never become 0."""
    assert loaders.worker_choices(current, available, lowest) == choices


def test_without_an_agent_a_loader_is_never_touched(adjusted: Opened) -> None:
    """Nothing is declared or imported, and the loader has the attributes that it had."""
    _, run = adjusted()
    items = loader()
    before = dict(items.__dict__)
    epoch(run.data(items))
    assert not run.is_adjustable
    assert items.__dict__ == before


def _adjustments(run: Run) -> RunAdjustments:
    found = run.adjustments
    assert isinstance(found, RunAdjustments)
    return found
