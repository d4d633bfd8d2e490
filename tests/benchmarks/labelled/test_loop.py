"""The training loop is a real one: it learns, reports to the agent's socket, and obeys."""

import asyncio
import importlib.util
from pathlib import Path

import msgspec
import numpy as np
import pytest

from flyball_agent.runs.registry import RunRegistry
from flyball_agent.runs.socket import RunSocket
from flyball_agent.self_metrics import SelfMetrics
from tests.benchmarks.labelled.loop import Model
from tests.benchmarks.labelled.plan import Change, LoopPlan, Reports, SourcePlan
from tests.benchmarks.labelled.scene import loop_of
from tests.benchmarks.labelled.sources import build_source
from tests.benchmarks.labelled.surroundings import Surroundings, Weather
from tests.benchmarks.labelled.trace import read_trace


def a_plan(folder: Path, **changes: object) -> LoopPlan:
    """A small loop."""
    plan = LoopPlan("r", str(folder / "s"), str(folder / "t"), str(folder), batch=32, features=64, hidden=64)
    return msgspec.structs.replace(plan, **changes)


def test_it_learns(tmp_path: Path) -> None:
    """The gradients are right: the loss falls, and each part of a step is timed."""
    plan = a_plan(tmp_path)
    model, marked = Model(plan), list[str]()
    model.rate = np.float32(0.1)
    batch = np.random.default_rng(1).random((plan.batch, plan.features), dtype=np.float32)
    losses = [model.step(batch, marked.append) for _ in range(200)]
    assert losses[-1] < 0.6 * losses[0]
    assert marked == ["forward", "backward", "optimizer"] * 200


@pytest.mark.parametrize(
    ("workers", "reports", "sections"),
    [
        (0, "client", {"forward", "backward", "optimizer"}),
        (1, "client", {"forward", "backward", "optimizer"}),
        (1, "hooks", {"forward_backward", "optimizer"}),
    ],
)
async def test_it_reports_to_the_agent(tmp_path: Path, workers: int, reports: Reports, sections: set[str]) -> None:
    """Steps, their seconds, the wait for data and the sections come through the socket; the trace has every step."""
    if reports == "hooks" and importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed (requirements-training.txt)")
    book, accounts = RunRegistry(), SelfMetrics()
    server = RunSocket(tmp_path / "s", book, accounts)
    await server.start()
    found = []
    with loop_of(a_plan(tmp_path, workers=workers, reports=reports)) as loop:
        assert await asyncio.to_thread(loop.read_line) == b"ready\n"
        loop.send(None)
        for _ in range(300):
            await asyncio.sleep(0.1)
            found += book.take_reports()
            if found and found[-1].steps > 1:
                break
        loop.send(Change(end=True))
        assert await asyncio.to_thread(loop.process.wait, 30) == 0
    await server.stop()
    assert accounts.client_errors == 0
    report = found[-1]
    assert (report.run, report.rank) == ("r", 0)
    assert 0 < report.data_wait_seconds < report.step_seconds
    assert sections <= set(report.section_seconds)
    assert len(read_trace(tmp_path / "t")) >= report.steps > 0


async def test_it_can_train_without_reports(tmp_path: Path) -> None:
    """Then only the readings of the host are known."""
    book = RunRegistry()
    server = RunSocket(tmp_path / "s", book, SelfMetrics())
    await server.start()
    with loop_of(a_plan(tmp_path, reports="none")) as loop:
        assert await asyncio.to_thread(loop.read_line) == b"ready\n"
        loop.send(None)
        await asyncio.sleep(0.5)
        loop.send(Change(end=True))
        assert await asyncio.to_thread(loop.process.wait, 30) == 0
    assert not book.take_reports()
    await server.stop()
    assert len(read_trace(tmp_path / "t")) > 0


async def test_threads_can_load(tmp_path: Path) -> None:
    """The loop trains on what they have prepared."""
    with loop_of(a_plan(tmp_path, loader_threads=2, reports="none")) as loop:
        assert await asyncio.to_thread(loop.read_line) == b"ready\n"
        loop.send(None)
        for _ in range(300):
            await asyncio.sleep(0.05)
            if (tmp_path / "t").exists() and (tmp_path / "t").stat().st_size:
                break
        loop.send(Change(end=True))
        assert await asyncio.to_thread(loop.process.wait, 30) == 0
    assert len(read_trace(tmp_path / "t")) > 0


async def test_checkpoints_can_begin_while_it_trains(tmp_path: Path) -> None:
    """They are written from then on, whole."""
    with loop_of(a_plan(tmp_path, checkpoint_bytes=5000, reports="none")) as loop:
        assert await asyncio.to_thread(loop.read_line) == b"ready\n"
        loop.send(None)
        for _ in range(300):
            await asyncio.sleep(0.05)
            if (tmp_path / "t").exists() and (tmp_path / "t").stat().st_size:
                break
        assert not (tmp_path / "checkpoint.bin").exists()
        loop.send(Change(checkpoint_steps=1))
        for _ in range(300):
            await asyncio.sleep(0.05)
            if (tmp_path / "checkpoint.bin").exists():
                break
        loop.send(Change(end=True))
        assert await asyncio.to_thread(loop.process.wait, 30) == 0
    assert (tmp_path / "checkpoint.bin").stat().st_size == 5000


@pytest.mark.parametrize(
    "source",
    [
        SourcePlan("memory"),
        SourcePlan("file", 65536, cold=True),
        SourcePlan("file", 65536),
        SourcePlan("mapped", 8, size=1 << 20),
        SourcePlan("anonymous", 8, size=1 << 20),
        SourcePlan("file", 65536, size=1 << 20),
        SourcePlan("small_files", 3, cold=True),
        SourcePlan("small_files", 3),
        SourcePlan("python", 1000, cold=True),
        SourcePlan("locked", 1, cold=True),
    ],
)
def test_batches_come_from_everywhere(tmp_path: Path, source: SourcePlan) -> None:
    """Whatever the source, a batch has its shape, and pixels lie between 0 and 1."""
    (tmp_path / "data.bin").write_bytes(bytes(range(256)) * 8192)
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "one.bin").write_bytes(bytes(range(256)) * 16)
    plan = a_plan(tmp_path)
    batch = build_source(source, plan, lambda: source.cold).load(np.random.default_rng(1))
    assert batch.shape == (plan.batch, plan.features)
    assert batch.dtype == np.float32
    assert 0 <= batch.min() <= batch.max() <= 1


async def test_the_weather_of_the_surroundings_is_felt(tmp_path: Path) -> None:
    """A data server that takes long makes batches late; the name service likewise."""
    surroundings = Surroundings()
    ports = await surroundings.start()
    plan = a_plan(tmp_path, data_port=ports.data, resolver_port=ports.resolver)
    loop, rng = asyncio.get_running_loop(), np.random.default_rng(1)

    async def seconds(source: SourcePlan) -> float:
        built = await asyncio.to_thread(build_source, source, plan, lambda: False)
        started = loop.time()
        await asyncio.to_thread(built.load, rng)
        return loop.time() - started

    assert ports.host == "127.0.0.1"
    assert not ports.has_packets
    surroundings.become(Weather(record_seconds=0.2, resolver_seconds=0.1))
    assert await seconds(SourcePlan("remote", 100_000)) >= 0.2
    assert await seconds(SourcePlan("resolver", 2)) >= 0.2
    surroundings.become(Weather(network_seconds=0.3))
    assert await seconds(SourcePlan("remote", 100_000)) >= 0.3
    await surroundings.stop()
