"""`flyball capture` against a real collector's HTTP side, and an agent that answers as a test wants."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import typer
from structlog.testing import capture_logs
from typer.testing import CliRunner, Result

from flyball.command.capture import byte_count, capture
from flyball.command.errors import CommandError, WrongArgument
from flyball_collector.captures.orders import CaptureOrders
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.collector.captures.conftest import part
from tests.collector.http.test_capture_routes import captures_of, with_run

TEXT = b"Stacks of a rank\n    train_step (train.py:118)\n\x1b[31mred\n"


@pytest.fixture(autouse=True)
def _quiet_collector() -> Iterator[None]:
    """Keep the collector's log out of the command's output, because both are in this process."""
    with capture_logs():
        yield


class AnsweringAgents:
    """Agents that deliver a result, or a reason, as soon as something is ordered."""

    def __init__(self, captures: CaptureOrders, results: dict[int, bytes | str], file_name: str) -> None:
        self._captures = captures
        self._results = results  # by rank
        self._file_name = file_name
        self._tasks: set[asyncio.Task[None]] = set()

    def order_capture(self, host: str, order: pb.CaptureOrder) -> bool:
        task = asyncio.get_running_loop().create_task(self._answer(host, order))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    def capture_next(self, host: str, message: pb.CaptureNext) -> None:
        """Nothing: a result has one part."""

    def version_of(self, host: str) -> str:  # noqa: ARG002
        return "0.1.0"

    async def _answer(self, host: str, order: pb.CaptureOrder) -> None:
        self._captures.take(host, pb.Captured(id=order.id, state=pb.Captured.RUNNING, detail="step 1 of 3"))
        await asyncio.sleep(0.1)
        result = self._results[order.rank]
        if isinstance(result, str):
            self._captures.take(host, pb.Captured(id=order.id, state=pb.Captured.FAILED, detail=result))
        else:
            message = part(order.id, result)
            message.file_name = self._file_name
            self._captures.take(host, message)


@asynccontextmanager
async def collector(results: dict[int, bytes | str], file_name: str = "stacks.txt") -> AsyncIterator[str]:
    """Yield the address of a collector with the run `a/b`, whose two ranks are on two hosts."""
    parts = with_run()
    parts.captures.agents = AnsweringAgents(parts.captures, results, file_name)
    async with captures_of(parts) as url:
        yield url.removesuffix("/api/v1/captures")


async def run(url: str, *words: str, cwd: Path | None = None) -> Result:
    """Run the command in a thread, because the collector answers on the event loop."""
    app = typer.Typer()
    app.command()(capture)
    with contextlib.chdir(cwd) if cwd is not None else contextlib.nullcontext():
        return await asyncio.to_thread(CliRunner().invoke, app, [*words, "--collector", url])


def failure(result: Result) -> str:
    """Return the error of a command that failed."""
    assert isinstance(result.exception, CommandError), result.output
    return str(result.exception)


async def test_stacks_are_printed_without_control_characters() -> None:
    """All ranks, in order, with the progress on the standard error."""
    async with collector({0: TEXT, 1: b"Stacks of another\n"}) as url:
        result = await run(url, "a/b")
    assert result.exit_code == 0
    assert result.stdout.index("train_step (train.py:118)") < result.stdout.index("Stacks of another")
    assert "    train_step" in result.stdout, "the indentation stays"
    assert "\x1b" not in result.stdout
    assert "rank 0 on node-1: done" in result.stderr
    assert "rank 1 on node-2: done" in result.stderr


async def test_a_binary_result_is_written_to_a_new_file(tmp_path: Path) -> None:
    """Its name has run and rank; an existing file is never overwritten, and can be fetched again under another name."""
    async with collector({1: b"\x1f\x8btrace"}, "trace.json.gz") as url:
        words = ("a/b", "--rank", "1", "--what", "trace")
        result = await run(url, *words, cwd=tmp_path)
        assert result.stdout == "Wrote a-b-rank1-trace.json.gz (7 B).\n"
        assert (tmp_path / "a-b-rank1-trace.json.gz").read_bytes() == b"\x1f\x8btrace"
        again = failure(await run(url, *words, cwd=tmp_path))
        assert "a-b-rank1-trace.json.gz exists already; name another file with --output. The capture is " in again
        fetched = await run(url, "--id", again.rsplit(" ", 1)[1], "-o", "other.gz", cwd=tmp_path)
        assert (fetched.stdout, (tmp_path / "other.gz").read_bytes()) == ("Wrote other.gz (7 B).\n", b"\x1f\x8btrace")


async def test_several_results_go_into_a_folder(tmp_path: Path) -> None:
    """One file for each rank."""
    async with collector({0: b"zero", 1: b"one"}) as url:
        result = await run(url, "a/b", "--output", "folder", cwd=tmp_path)
    assert result.exit_code == 0
    assert {path.name: path.read_bytes() for path in (tmp_path / "folder").iterdir()} == {
        "a-b-rank0-stacks.txt": b"zero",
        "a-b-rank1-stacks.txt": b"one",
    }


async def test_what_failed_is_an_error_and_the_rest_is_shown() -> None:
    """The status is 1, and each failed rank has its reason."""
    async with collector({0: b"fine", 1: "process 12 has ended"}) as url:
        result = await run(url, "a/b")
    assert "fine" in result.stdout
    assert failure(result) == "rank 1 on node-2: process 12 has ended"


async def test_json_has_everything() -> None:
    """Texts are in it, and failed captures too."""
    async with collector({0: b"fine", 1: "no"}) as url:
        document: dict[str, Any] = json.loads((await run(url, "a/b", "--format", "json")).stdout)
    assert [(each["state"], each.get("text"), each["rank"]) for each in document["captures"]] == [
        ("done", "fine", 0),
        ("failed", None, 1),
    ]


async def test_earlier_captures_are_listed() -> None:
    """With their ids, which --id takes. An empty list is a sentence."""
    async with collector({0: b"fine", 1: b"too"}) as url:
        assert (await run(url, "--list")).stdout == "No captures.\n"
        await run(url, "a/b", "--rank", "0")
        listed = (await run(url, "a/b", "--list")).stdout.splitlines()
        assert listed[0].split() == ["ID", "ORDERED", "RUN", "RANK", "HOST", "WHAT", "STATE", "SIZE", "DETAIL"]
        assert "node-1" in listed[1]
        assert listed[-1] == "1 capture"
        shown = await run(url, "--id", listed[1].split()[0])
        assert "fine" in shown.stdout
        document = json.loads((await run(url, "--list", "--format", "json")).stdout)
        assert document["total"] == 1


async def test_wrong_arguments_are_refused_before_anything_is_ordered(tmp_path: Path) -> None:
    """Each error names what is wrong and what to do."""
    (tmp_path / "there").write_text("x")
    async with collector({0: b"x", 1: b"x"}) as url:
        for words, reason in (
            ((), "name a run, as `flyball runs` lists it"),
            (("nobody",), "no run named 'nobody'"),
            (("a/b", "--rank", "9"), "its ranks are 0 to 1"),
            (("a/b", "--max-bytes", "lots"), "--max-bytes lots: expected a size such as 500K, 64M or 1G"),
            (("a/b", "--rank", "0", "-o", "there"), "there exists already"),
            (("a/b", "--rank", "0", "-o", "none/file"), "there is no folder none"),
            (("gpu-only", "--what", "trace"), "does not report steps to its agent"),
            (("--id", "ffff"), "no capture with the id 'ffff'; `flyball capture --list` lists them"),
        ):
            assert reason in failure(await run(url, *words, cwd=tmp_path)), words
        assert (await run(url, "--list")).stdout == "No captures.\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1", 1), ("500K", 512_000), ("64M", 67_108_864), ("1g", 1024**3), ("2 MiB", 2 * 1024**2), ("3MB", 3 * 1024**2)],
)
def test_sizes_have_units(text: str, expected: int) -> None:
    """As people write them."""
    assert byte_count(text) == expected


@pytest.mark.parametrize("text", ["", "0", "M", "-1M", "1.5G", "1T", "64 M B", "\x1b"])
def test_other_sizes_are_refused(text: str) -> None:
    """With examples."""
    with pytest.raises(WrongArgument, match="expected a size such as"):
        byte_count(text)
