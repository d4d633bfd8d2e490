"""Whatever a process sends about adjustments, it gets an error, and no other process or run is disturbed."""

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from flyball_agent.adjustments.message_budget import BURST_MESSAGES
from flyball_agent.runs.adjustment_messages import MAX_CHOICES, MAX_FACTS, MAX_VALUES
from flyball_agent.runs.messages import Hello
from flyball_agent.runs.registry import SocketPeer
from tests.agent.adjustments.training_client import (
    ID,
    MICRO_BATCH,
    DeskOfHost,
    able,
    desk_of_host,
    offer,
)


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[DeskOfHost]:
    """A host on which adjustments are on."""
    async with desk_of_host(tmp_path) as host:
        yield host


def value(**fields: Any) -> dict[str, Any]:
    return {**MICRO_BATCH, **fields}


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (
            able(*({"name": f"v{n}", "value": 1} for n in range(MAX_VALUES + 1))),
            "able: values: expected array of length",
        ),
        (able(value(choices=list(range(MAX_CHOICES + 1)))), "able: values[0].choices: expected array of length"),
        (able(value(facts={str(n): "" for n in range(MAX_FACTS + 1)})), "able: values[0].facts: expected object"),
        (able(value(name="")), "able: values[0].name: expected str of length >= 1"),
        (able(value(name="x" * 201)), "able: values[0].name: expected str of length <= 200"),
        (able(value(name="a\u202eb")), "able: values[0].name: expected printable characters"),
        (able(value(), value()), "able: values: the name 'micro_batch' occurs twice"),
        (able(value(value=[1])), "able: values[0].value: expected true, false, a finite number or a printable text"),
        (able(value(value=float("nan"))), "able: values[0].value: expected true, false, a finite number"),
        (able(value(choices=[float("inf")])), "able: values[0].choices: expected true, false, a finite number"),
        (able(value(value="x" * 201)), "able: values[0].value: expected true, false, a finite number"),
        (able(value(value=10**30)), "able: values[0].value: expected true, false, a finite number"),
        (able(value(safety=0)), "able: values[0].safety: expected int >= 1"),
        (able(value(when="now")), "able: values[0].when: expected str matching"),
        (able(step=-1), "able: step: expected int >= 0"),
        ({"kind": "able"}, "able: values: expected this field"),
        ({"kind": "prepared", "id": "short"}, "prepared: id: expected str matching"),
        ({"kind": "applied", "id": ID}, "applied: observed: expected this field"),
        ({"kind": "applied", "id": ID, "observed": {}}, "applied: observed: expected true, false"),
        ({"kind": "oom", "step": 1, "retry_seconds": -1}, "oom: retry_seconds: expected float >= 0"),
        ({"kind": "oom", "step": 1, "to": [4]}, "oom: to: expected true, false"),
    ],
)
async def test_an_invalid_message_gets_an_error_that_names_the_key(host: DeskOfHost, message: Any, error: str) -> None:
    """The connection stays open, what was declared before stays valid, and the line is counted."""
    client = await host.client()
    host.desk.outbox.take()
    answer = await client.request(message)
    assert answer["kind"] == "error"
    assert answer["error"].startswith(error)
    assert host.self_metrics.client_errors == 1
    assert host.desk.outbox.take() == []
    host.desk.take(offer())
    assert (await client.pushed_line("offer"))["id"] == ID


async def test_ten_thousand_values_end_the_connection_of_their_sender_only(host: DeskOfHost) -> None:
    """The line is too long for any message."""
    honest = await host.client(rank=0)
    hostile = await host.client(rank=1)
    lines = able(*(value(name=f"value {n}") for n in range(10_000)))
    hostile.writer.write(json.dumps(lines).encode() + b"\n")
    assert (await hostile.pushed_line("error"))["error"] == "a line is longer than 65536 bytes"
    host.desk.take(offer())
    assert (await honest.pushed_line("offer"))["id"] == ID


async def test_before_a_hello_nothing_can_be_declared(host: DeskOfHost) -> None:
    """A process without a run has no values."""
    client = await host.connect()
    assert await client.request({"kind": "goodbye"}) == {"kind": "ok"}
    for message in (able(), {"kind": "prepared", "id": ID}, {"kind": "oom", "step": 1}):
        assert (await client.request(message))["error"].startswith(f"{message['kind']} before hello")
    assert host.sent("able") == []


async def test_another_users_run_cannot_be_joined(host: DeskOfHost) -> None:
    """The hello is refused, so its process declares nothing and gets no offer of that run."""
    owner = SocketPeer(1, os.getuid() + 1, connection=999)
    host.socket.registry.open(owner, Hello("theirs"), 0.0)
    client = await host.connect()
    assert "belongs to another user" in (await client.request({"kind": "hello", "run": "theirs"}))["error"]
    assert "before hello" in (await client.request(able()))["error"]
    host.desk.take(offer(run="theirs"))
    assert host.refusals() == [(0, "unknown_run")]
    assert client.pushed == [{"kind": "adjustments", "enabled": True}]


async def test_answers_for_the_offer_of_another_run_are_errors(host: DeskOfHost) -> None:
    """A process can answer only what was offered to itself."""
    mine, theirs = await host.client(run="mine"), await host.client(run="theirs")
    host.desk.take(offer(run="mine"))
    await mine.pushed_line("offer")
    assert (await theirs.request({"kind": "prepared", "id": ID}))["kind"] == "error"
    assert host.sent("answer") == []


async def test_a_process_cannot_crowd_out_the_others(host: DeskOfHost) -> None:
    """Messages beyond a rate are dropped with an error; another process still reaches the collector."""
    hostile, honest = await host.client(rank=0), await host.client(rank=1)
    host.desk.outbox.take()
    answers = [(await hostile.request({"kind": "oom", "step": n}))["kind"] for n in range(100)]
    assert answers.count("ok") == BURST_MESSAGES - 1  # one was its declaration
    assert await honest.request({"kind": "oom", "step": 7}) == {"kind": "ok"}
    found = host.sent("out_of_memory")
    assert len(found) == BURST_MESSAGES
    assert (found[-1].rank, found[-1].step) == (1, 7)
    host.advance(10)
    assert (await hostile.request({"kind": "oom", "step": 101}))["kind"] == "ok"


async def test_a_process_that_leaves_lines_unread_is_refused_for(host: DeskOfHost) -> None:
    """The collector learns at once that the rank cannot get an offer."""
    client = await host.client()
    client.writer.transport.pause_reading()  # type: ignore[attr-defined]  # a transport of asyncio can
    while host.socket.push(os.getpid(), "a-run", b'{"kind":"filler","text":"' + b"x" * 60_000 + b'"}\n'):
        pass
    host.desk.take(offer())
    assert host.refusals() == [(0, "not_reading")]
