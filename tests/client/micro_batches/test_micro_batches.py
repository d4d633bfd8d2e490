"""One rank computes its batch in slices, and repeats it in smaller ones if memory runs out."""

import gc
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from weakref import ref

import pytest

import flyball
from flyball.micro_batches.micro_batches import MicroBatches
from flyball.training.run import Run
from tests.client.training.listening_socket import ListeningSocket

torch = pytest.importorskip("torch", reason="torch is not installed (requirements-training.txt)")

from tests.client.micro_batches.tiny_training import (  # noqa: E402  it needs torch
    PER_RANK,
    Fault,
    Faults,
    TinyLanguageModel,
    batches,
    difference,
    raise_out_of_memory,
    train,
)

_ROOT = Path(__file__).parents[3]


@pytest.fixture(name="run")
def _run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Return a run without an agent."""
    for name in ("RANK", "WORLD_SIZE", "FLYBALL_RESTART_STATE", "FLYBALL_ATTEMPT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FLYBALL_SOCKET", str(tmp_path / "agent.sock"))
    torch.set_num_threads(1)
    gc.freeze()  # each failure collects garbage, and what other tests have left takes long
    with flyball.run("tiny") as run:
        yield run
    gc.unfreeze()


def losses(
    *faults: Fault, dtype: Any = None, micro: int | None = 4, autocast: bool = False, sizes: tuple[int, ...] = ()
) -> list[float]:
    """Train a tiny model in a run of its own; without slices, batch by batch. Sizes are those after each step."""
    torch.manual_seed(3)
    model = TinyLanguageModel(dtype or torch.float64)
    planned = Faults(faults)
    planned.watch(model.hidden)
    with flyball.run("tiny losses") as run:
        run.step()
        batch = None if micro is None else run.batch(per_rank=PER_RANK, micro=micro, normalised="tokens")
        waiting = list(sizes)

        def after_step() -> None:
            if waiting:
                run.adjustments.values["micro_batch"].change(waiting.pop(0))

        return train(model, batches(6), batch, faults=planned, autocast=autocast, after_step=after_step)


@pytest.mark.parametrize(
    ("dtype", "autocast", "limit"), [("float64", False, 1e-12), ("float32", False, 1e-6), ("float32", True, 1e-3)]
)
@pytest.mark.usefixtures("run")
def test_slices_give_the_losses_of_whole_batches(dtype: str, autocast: bool, limit: float) -> None:
    """Also if the size changes in between, and if memory runs out in forward or backward, first or last slice."""
    kind = getattr(torch, dtype)
    whole = losses(dtype=kind, micro=None, autocast=autocast)
    changing = losses(dtype=kind, micro=8, autocast=autocast, sizes=(8, 2, 1, 4, 8))
    assert difference(changing, whole) <= limit
    assert difference(losses(dtype=kind, micro=2, autocast=autocast), whole) <= limit
    for where in ("forward", "backward"):
        for piece in (0, -1):
            found = losses(Fault(2, where, piece), dtype=kind, autocast=autocast)
            assert difference(found, whole) <= limit, (where, piece)


def test_a_smaller_last_batch_is_computed_whole(run: Run) -> None:
    """Five of eight samples, in slices of two."""
    batch = run.batch(per_rank=8, micro=2, normalised="samples")
    seen: list[int] = []

    def part(piece: Any) -> Any:
        seen.append(len(piece))
        return piece.sum()

    total = batch.accumulate(part, torch.arange(5.0), clear=lambda: None)
    assert seen == [2, 2, 1]
    assert total.item() == 10


def test_results_are_added_and_lose_their_graphs(run: Run) -> None:
    """Tensors, numbers, and tuples or dicts of them."""
    weight = torch.ones(1, requires_grad=True)
    batch = run.batch(per_rank=4, micro=2, normalised="samples")
    data = torch.arange(4.0)
    total = batch.accumulate(lambda piece: (weight.sum() * piece.sum(), {"count": len(piece)}), data)
    assert (float(total[0]), total[1], total[0].requires_grad) == (6.0, {"count": 4}, False)
    assert batch.accumulate(torch.Tensor.tolist, data) == [0.0, 1.0, 2.0, 3.0]


def test_the_batch_is_repeated_when_nothing_of_the_failed_pass_is_left(run: Run) -> None:
    """Inside of `except`, the error would keep its tensors alive."""
    batch = run.batch(per_rank=4, micro=4, normalised="samples")
    held: list[Any] = []
    alive: list[bool] = []

    def part(piece: Any) -> Any:
        alive.extend(each() is not None for each in held)
        large = piece * 2
        if len(piece) == 4:
            held.append(ref(large))
            raise_out_of_memory()
        return large.sum()

    assert float(batch.accumulate(part, torch.arange(4.0), clear=lambda: None)) == 12.0
    assert alive == [False, False]


def test_an_out_of_memory_is_sent_to_the_agent(run: Run, tmp_path: Path) -> None:
    """With the step in progress, the part, both sizes and the time that was lost."""
    run.finish()
    with ListeningSocket(tmp_path / "agent.sock") as agent:
        losses(Fault(0, "backward", -1))
        agent.accept()
        (message,) = [line for line in agent.lines() if line["kind"] == "oom"]
    assert message.pop("retry_seconds") > 0
    assert message == {
        "kind": "oom", "step": 2, "where": "backward", "name": "micro_batch", "from": 4, "to": 2, "recovered": True,
    }  # fmt: skip


def test_an_out_of_memory_that_ends_the_training_changes_no_value(run: Run, tmp_path: Path) -> None:
    """Without a repetition and without a next start, no new size is reported."""
    run.finish()
    with ListeningSocket(tmp_path / "agent.sock") as agent:
        with flyball.run("tiny") as other:
            batch = other.batch(per_rank=4, micro=4, normalised="tokens")
            assert "Not repeated" in notes(caught(batch, lambda _: raise_out_of_memory()))
        agent.accept()
        (message,) = [line for line in agent.lines() if line["kind"] == "oom"]
    assert (message["from"], message["to"], message["recovered"]) == (4, None, False)


def caught(batch: Any, part: Any, data: Any = None, **options: Any) -> BaseException:
    """Return what accumulate raises."""
    with pytest.raises(Exception) as raised:  # noqa: PT011  the test looks at it
        batch.accumulate(part, torch.arange(4.0) if data is None else data, **options)
    return raised.value


def notes(error: BaseException) -> str:
    """Return what was added to an error."""
    return "\n".join(getattr(error, "__notes__", []))


def test_other_errors_pass_unchanged(run: Run) -> None:
    """Without a note, at the first slice that raises."""
    batch = run.batch(per_rank=4, micro=2, normalised="samples")
    error = ValueError("of the script")
    calls: list[int] = []

    def part(piece: Any) -> None:
        calls.append(len(piece))
        raise error

    assert caught(batch, part, clear=lambda: None) is error
    assert (calls, notes(error)) == ([2], "")


def test_a_batch_is_never_repeated_after_an_optimizer_has_begun(run: Run) -> None:
    """In its `step`, or behind one in the same batch."""
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.AdamW(model.parameters())
    batch = run.batch(per_rank=4, micro=2, normalised="samples")
    calls: list[int] = []

    def part(piece: Any) -> None:
        calls.append(len(piece))
        model(piece.unsqueeze(1)).sum().backward()
        optimizer.step()
        raise_out_of_memory()

    def failing_step(piece: Any) -> None:
        calls.append(len(piece))
        optimizer.register_step_pre_hook(lambda *_: raise_out_of_memory())
        optimizer.step()

    for each in (part, failing_step):
        error = caught(batch, each, model=model, clear=optimizer.zero_grad)
        assert "Not repeated: an optimizer had begun its step." in notes(error)
        optimizer.zero_grad()
    assert (calls, batch.micro) == ([2, 2], 2)


def test_a_mean_of_each_slice_is_neither_changed_nor_repeated(run: Run) -> None:
    """Other sizes would train something else."""
    batch = run.batch(per_rank=4, micro=2, normalised="mean")
    error = caught(batch, raise_out_of_memory, clear=lambda: None)
    assert "the loss is a mean over each slice" in notes(error)
    assert run.adjustments.values["micro_batch"].blocked == "mean_of_means"


def test_gradients_of_earlier_batches_are_not_lost(run: Run) -> None:
    """They are there if the script accumulates by itself, and if it announces that with `last=False`."""
    model = torch.nn.Linear(1, 1)
    for last in (True, False):
        batch = run.batch(per_rank=4, micro=2, normalised="samples")

        def part(piece: Any) -> None:
            model(piece.unsqueeze(1)).sum().backward()

        batch.accumulate(part, torch.arange(4.0), model=model, last=last)
        assert model.weight.grad is not None
        before = model.weight.grad.clone()
        error = caught(batch, raise_out_of_memory, model=model, last=last)
        assert "Not repeated: gradients of earlier batches would be lost." in notes(error)
        assert torch.equal(model.weight.grad, before)
        assert run.adjustments.values["micro_batch"].blocked == ("mid_accumulation" if last else "")
        model.zero_grad()


def test_gradients_that_were_set_to_zero_do_not_count(run: Run) -> None:
    """Scripts may set gradients to zero instead of removing them."""
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.AdamW(model.parameters())
    batch = run.batch(per_rank=4, micro=4, normalised="samples")
    due = [False, True]

    def part(piece: Any) -> None:
        if len(piece) == 4 and due and due.pop(0):
            raise_out_of_memory()
        model(piece.unsqueeze(1)).sum().backward()

    for _ in range(2):
        batch.accumulate(part, torch.arange(4.0), model=model, clear=lambda: optimizer.zero_grad(set_to_none=False))
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
    assert batch.micro == 2
    assert run.adjustments.values["micro_batch"].blocked == ""


@pytest.mark.parametrize("kind", ["outside", "inside"])
def test_a_compiled_model_is_not_changed_by_an_offer_but_may_be_repeated(run: Run, kind: str) -> None:
    """New shapes would be compiled at a moment that nobody chose; without memory there is no choice."""
    model = torch.nn.Linear(1, 1)
    if kind == "outside":
        compiled = torch.compile(model, backend="eager")
    else:
        model.compile(backend="eager")
        compiled = model
    batch = run.batch(per_rank=4, micro=4, normalised="samples")
    due = [True]

    def part(piece: Any) -> None:
        if due and due.pop():
            raise_out_of_memory()
        model(piece.unsqueeze(1)).sum().backward()

    batch.accumulate(part, torch.arange(4.0), model=compiled)
    assert batch.micro == 2
    assert run.adjustments.values["micro_batch"].blocked == "compiled"


def test_a_batch_that_cannot_be_sliced_is_computed_whole(run: Run) -> None:
    """Its size cannot be changed, and it is not repeated."""
    batch = run.batch(per_rank=4, micro=2, normalised="samples")
    data = {"x": torch.arange(4.0), "weights": torch.ones(3)}
    assert batch.accumulate(lambda piece: piece is data, data, clear=lambda: None) is True
    assert run.adjustments.values["micro_batch"].blocked == "not_sliceable"
    assert "the batch cannot be sliced; pass `slice=`" in notes(
        caught(batch, raise_out_of_memory, data, clear=lambda: None)
    )


def test_without_model_and_clear_a_batch_is_not_repeated(run: Run) -> None:
    """Half of its gradients would count twice."""
    batch = run.batch(per_rank=4, micro=2, normalised="samples")
    assert "pass `model=` or `clear=`" in notes(caught(batch, raise_out_of_memory))
    assert run.adjustments.values["micro_batch"].blocked == "unknown_model"


def test_the_next_start_begins_with_the_size_after_the_failed_one(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a launcher keeps a folder for that; another run, and one whose batch is other, take what fits."""
    monkeypatch.setenv("FLYBALL_RESTART_STATE", str(tmp_path))
    batch = run.batch(per_rank=12, micro=12, normalised="tokens")

    def part(piece: Any) -> None:
        if len(piece) > 4:
            raise_out_of_memory()
        raise ValueError("of the script, in the smaller slices")

    assert isinstance(caught(batch, part, torch.arange(12.0), clear=lambda: None), ValueError)
    for per_rank, expected in ((12, 3), (10, 2), (3, 3)):
        assert run.batch(per_rank=per_rank, micro=per_rank, normalised="tokens").micro == expected
    with flyball.run("another") as another:
        assert another.batch(per_rank=12, micro=12, normalised="tokens").micro == 12


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"per_rank": 0}, "per_rank=0: expected the number of samples"),
        ({"per_rank": 12, "micro": 5}, "micro=5 does not divide per_rank=12: use one of 1, 2, 3, 4, 6, 12"),
        ({"per_rank": 4, "normalised": "token"}, "normalised='token': use one of tokens, samples, mean"),
    ],
)
def test_wrong_arguments_are_refused_at_the_declaration(run: Run, arguments: dict[str, Any], message: str) -> None:
    """Before the first step, with what to use instead."""
    with pytest.raises(ValueError, match=r"run\.batch: ") as raised:
        MicroBatches(run, **arguments)
    assert message in str(raised.value)


def test_a_training_survives_a_limit_of_its_address_space() -> None:
    """PyTorch's allocator really fails then, and the losses are those without a limit."""
    environment = {**os.environ, "FLYBALL_SOCKET": "/nonexistent", "OMP_NUM_THREADS": "1"}
    environment |= {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}  # memory that is free is given back
    done = subprocess.run(
        [sys.executable, "-m", "tests.client.micro_batches.memory_limit"],
        cwd=_ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    answer = json.loads(done.stdout)
    assert answer["sizes"][0] < 64
    assert difference(answer["limited"], answer["free"]) <= 1e-6
