"""Captures over HTTP: who may order and fetch them, what cannot be captured, and how a result comes out."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from flyball_collector.captures.orders import MAX_ACTIVE
from flyball_collector.captures.request import CaptureRequest
from flyball_collector.captures.targets import targets_of
from flyball_collector.http.collector_parts import CollectorParts
from flyball_collector.http.testing import FetchedAnswer, fetch, make_parts, serving
from flyball_collector.security.tokens import Role, TokensFile, new_token
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.collector.captures.conftest import AgentsDouble, part, some_bytes

OPERATOR = {"X-Flyball-Operator": "1"}


def with_run(parts: CollectorParts | None = None) -> CollectorParts:
    """Return parts whose run `a/b` has two clients, and `gpu-only` a process without one."""
    parts = parts or make_parts()
    now = parts.clock()
    for name, members in (
        ("node-1", [(11, "a/b", 0, "client"), (13, "gpu-only", 0, "slurm")]),
        ("node-2", [(12, "a/b", 1, "client")]),
        ("gone", [(14, "lost", 0, "client")]),
    ):
        state = parts.fleet.ensure(name)
        state.connected, state.received_ns = name != "gone", now
        state.tenancy = pb.Tenancy(
            members=[pb.Member(pid=p, run=r, rank=n, world_size=2, source=s) for p, r, n, s in members]
        )
    parts.fleet.runs.advance(now, {state.name: state for state in parts.fleet.hosts()})
    parts.captures.agents = AgentsDouble()
    return parts


@asynccontextmanager
async def captures_of(parts: CollectorParts) -> AsyncIterator[str]:
    """Run the captures with the server."""
    task = asyncio.create_task(parts.captures.run())
    try:
        async with serving(parts) as url:
            yield f"{url}/api/v1/captures"
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        parts.captures.shut_down()


async def order(url: str, headers: dict[str, str] | None = None, **body: Any) -> FetchedAnswer:
    chosen = {"Content-Type": "application/json", **(OPERATOR if headers is None else headers)}
    return await fetch(url, method="POST", headers=chosen, body=msgspec.json.encode(body))


async def test_a_capture_is_ordered_followed_downloaded_and_deleted() -> None:
    """The result is the one that the agent sent, under a name with its run and rank."""
    parts, body = with_run(), some_bytes(300_000)
    async with captures_of(parts) as url:
        answer = await order(url, run="a/b", what="trace", rank=1, steps=5)
        assert answer.status == 201
        (found,) = answer.json()["captures"]
        assert (found["host"], found["pid"], found["steps"], found["state"]) == ("node-2", 12, 5, "ordered")
        assert (await fetch(f"{url}/{found['id']}/file", headers=OPERATOR)).status == 409
        for offset in range(0, len(body), 128 * 1024):
            parts.captures.take("node-2", part(found["id"], body, offset))
            await parts.captures.written()
        shown = (await fetch(f"{url}/{found['id']}")).json()
        assert (shown["state"], shown["bytes"], shown["file_name"]) == ("done", len(body), "a-b-rank1-trace.json.gz")
        file = await fetch(f"{url}/{found['id']}/file", headers=OPERATOR)
        assert file.body == body
        assert file.headers["content-disposition"] == 'attachment; filename="a-b-rank1-trace.json.gz"'
        assert file.headers["content-length"] == str(len(body))
        listed = (await fetch(f"{url}?run=a/b")).json()
        assert ([each["id"] for each in listed["captures"]], listed["total"]) == ([found["id"]], 1)
        assert (await fetch(f"{url}?run=other")).json()["total"] == 0
        assert (await fetch(f"{url}/{found['id']}", method="DELETE", headers=OPERATOR)).status == 200
        assert (await fetch(f"{url}/{found['id']}")).status == 404


async def test_stacks_are_of_all_ranks_and_everything_else_of_the_lowest() -> None:
    """Without a rank, an operator sees where the whole run is, and traces only one process."""
    async with captures_of(with_run()) as url:
        stacks = (await order(url, run="a/b", what="stacks")).json()["captures"]
        assert [(each["rank"], each["host"]) for each in stacks] == [(0, "node-1"), (1, "node-2")]
        memory = (await order(url, run="a/b", what="memory")).json()["captures"]
        assert [each["rank"] for each in memory] == [0]


REFUSED: tuple[tuple[dict[str, Any], int, str], ...] = (
    ({"run": "nobody", "what": "stacks"}, 404, "unknown_run"),
    ({"run": "a/b", "what": "stacks", "rank": 7}, 404, "its ranks are 0 to 1"),
    ({"run": "gpu-only", "what": "stacks", "rank": 7}, 404, "its only process has rank 0"),
    ({"run": "gpu-only", "what": "trace"}, 409, "rank 0 on node-1 does not report steps to its agent"),
    ({"run": "lost", "what": "stacks"}, 409, "the host gone of rank 0 is not connected"),
    ({"run": "a/b", "what": "core"}, 400, "what"),
    ({"run": "a/b", "what": "trace", "steps": -1}, 400, "steps"),
    ({"run": "a/b", "what": "trace", "steps": 10**6}, 400, "steps"),
    ({"run": "a/b", "what": "trace", "rank": -1}, 400, "rank"),
    ({"run": "a/b"}, 400, "what"),
    ({"run": "a/b", "what": "trace", "more": 1}, 400, "more"),
    ({"run": "<script>", "what": "trace"}, 404, "unknown_run"),
)


async def test_what_cannot_be_captured_has_a_plain_reason() -> None:
    """Each answer names what is wrong, and nothing is ordered."""
    parts = with_run()
    async with captures_of(parts) as url:
        for body, status, words in REFUSED:
            answer = await order(url, **body)
            error = answer.json()["error"]
            assert (answer.status, words in f"{error['code']} {error['what']} {error['hint']}") == (status, True), error
    assert len(parts.captures.captures) == 0


async def test_a_run_without_processes_cannot_be_captured() -> None:
    """The reason is that it has ended."""
    parts = with_run()
    now = parts.clock()
    for state in parts.fleet.hosts():
        state.tenancy = pb.Tenancy()
    parts.fleet.runs.advance(now, {state.name: state for state in parts.fleet.hosts()})
    async with captures_of(parts) as url:
        error = (await order(url, run="a/b", what="stacks")).json()["error"]
    assert (error["code"], error["hint"][:17]) == ("no_process", "the run has ended")


async def test_too_many_are_refused_for_now() -> None:
    """The answer names when to try again."""
    parts = with_run()
    parts.captures.order(CaptureRequest("a/b", "stacks"), targets_of(parts.fleet, "a/b")[:1] * MAX_ACTIVE)
    async with captures_of(parts) as url:
        answer = await order(url, run="a/b", what="stacks")
    assert (answer.status, answer.headers["retry-after"]) == (503, "10")


async def test_only_operators_order_and_fetch(tmp_path: Path) -> None:
    """Viewers see that there are captures; who ordered one is in it, in the timeline and in the log."""
    viewer, viewer_line = new_token(Role.VIEWER, "vera")
    operator, operator_line = new_token(Role.OPERATOR, "otto")
    (tmp_path / "tokens").write_text(f"{viewer_line}\n{operator_line}\n")
    parts = replace(with_run(), tokens=TokensFile(tmp_path / "tokens"))
    seen, may = {"Authorization": f"Bearer {viewer}"}, {"Authorization": f"Bearer {operator}"}
    async with captures_of(parts) as url:
        assert (await order(url, seen, run="a/b", what="stacks")).status == 403
        assert (await order(url, {}, run="a/b", what="stacks")).status == 401
        found = (await order(url, may, run="a/b", what="stacks", rank=0)).json()["captures"][0]
        assert found["by"] == "otto"
        parts.captures.take("node-1", part(found["id"], b"stacks", file_name="stacks.txt"))
        await parts.captures.written()
        assert (await fetch(f"{url}/{found['id']}", headers=seen)).json()["state"] == "done"
        assert (await fetch(f"{url}/{found['id']}/file", headers=seen)).status == 403
        assert (await fetch(f"{url}/{found['id']}", method="DELETE", headers=seen)).status == 403
        file = await fetch(f"{url}/{found['id']}/file", headers=may)
        assert (file.body, file.headers["content-type"]) == (b"stacks", "text/plain; charset=utf-8")
    noted = [entry for entry in parts.timeline.recent() if entry.kind == "capture_ordered"]
    assert [(entry.because, entry.run, entry.host) for entry in noted] == [
        ("otto ordered the stacks of rank 0", "a/b", "node-1")
    ]
    async with serving(with_run()) as url:
        assert (await order(f"{url}/api/v1/captures", {}, run="a/b", what="stacks")).status == 403, (
            "another site's form"
        )


async def test_a_removed_host_takes_its_captures_along() -> None:
    """Also those that are in progress."""
    parts = with_run()
    parts = replace(parts, forget_host=parts.captures.remove_host)
    async with captures_of(parts) as url:
        await order(url, run="a/b", what="stacks")
        state = parts.fleet.get("node-1")
        assert state is not None
        state.connected = False
        gone = await fetch(url.replace("captures", "hosts/node-1"), method="DELETE", headers=OPERATOR)
        assert gone.status == 200
        assert [each["host"] for each in (await fetch(url)).json()["captures"]] == ["node-2"]
