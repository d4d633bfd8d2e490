"""The collector's side of captures: results arrive whole or not at all, within limits, and each order ends."""

import tracemalloc

import pytest

from flyball_collector.captures.active_capture import ACCEPT_SECONDS, ANSWER_GRACE_SECONDS, MOST_SECONDS, STALL_SECONDS
from flyball_collector.captures.archive import PART as PART_KIND
from flyball_collector.captures.orders import MAX_ACTIVE
from flyball_collector.captures.request import TooManyCaptures
from flyball_collector.captures.settings import CapturesSettings
from flyball_collector.store.contract import Store, StoreError, StoreUnavailable
from flyball_collector.store.memory import MemoryStore
from flyball_collector.testing import FlakyStore
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.collector.captures.conftest import PART, Desk, open_desk, part, request, some_bytes, target


def parts_in(store: Store) -> int:
    return len(store.list_documents(PART_KIND))


async def test_a_result_comes_out_as_it_went_in(store: Store) -> None:
    """Every part is asked for when the one before is stored, and the result and its description survive a restart."""
    body = some_bytes(3 * PART + 17) + bytes(PART)
    async with open_desk(store) as desk:
        capture = desk.order(steps=5, by="alice")
        assert [(o.what, o.steps, o.pid, o.max_bytes) for o in desk.agents.orders] == [("trace", 5, 4711, 64 * 1024**2)]
        await desk.upload(capture, body)
        assert [(n.offset, n.forget) for n in desk.agents.nexts] == [(PART * i, False) for i in (1, 2, 3, 4)] + [
            (0, True)
        ]
        assert desk.state(capture)[0] == "done"
        assert desk.metrics.captures.labels("trace", "done")._value.get() == 1
    async with open_desk(store) as again:
        found = again.orders.captures.get(capture.id)
        assert found is not None
        assert (found.by, found.file_name, found.size_bytes, found.source) == (
            "alice",
            "trace.json.gz",
            len(body),
            "client",
        )
        assert found.stored_bytes == again.orders.captures.stored_bytes < len(body), "zeros compress"
        assert b"".join(again.orders.archive.parts(found)) == body
        again.orders.remove(found)
        await again.orders.written()
        assert parts_in(store) == 0
    async with open_desk(store) as last:
        assert len(last.orders.captures) == 0


async def test_an_empty_result_is_a_result(desk: Desk) -> None:
    """Nothing was found: that is an answer too."""
    capture = desk.order()
    assert desk.orders.take("host1", part(capture.id, b""))
    await desk.orders.written()
    assert desk.state(capture)[0] == "done"


async def test_a_damaged_result_is_refused_and_leaves_nothing(desk: Desk) -> None:
    """With a wrong digest the capture fails, and its parts are deleted."""
    capture, body = desk.order(), some_bytes(PART + 5)
    for offset in (0, PART):
        desk.orders.take("host1", part(capture.id, body, offset, sha256=b"x" * 32))
        await desk.orders.written()
    await desk.orders.written()
    assert desk.state(capture) == ("failed", "the result was damaged: its SHA-256 digest differs")
    assert parts_in(desk.store) == 0
    assert desk.agents.nexts[-1].forget


FAULTS = (
    ({"size_bytes": 10 * 1024**3}, "announced 10,737,418,240 bytes; the limit is 67,108,864"),
    ({"offset": 5}, "sent byte 5 instead of 0"),
    ({"size_bytes": 10}, "sent more than it announced"),
    ({"data": some_bytes(193 * 1024), "size_bytes": 10**6}, "sent more than it announced"),
    ({"data": b"tiny", "size_bytes": 10**6}, "a part that is too short"),
)


@pytest.mark.parametrize(("fields", "reason"), FAULTS)
async def test_a_part_that_does_not_fit_ends_the_capture(desk: Desk, fields: dict[str, object], reason: str) -> None:
    """The reason is in the capture, nothing is stored, and the agent is asked to forget its result."""
    capture = desk.order()
    body = bytes(some_bytes(20 * 1024))
    message = part(capture.id, body)
    for name, value in fields.items():
        setattr(message, name, value)
    assert desk.orders.take("host1", message)
    await desk.orders.written()
    state, detail = desk.state(capture)
    assert (state, reason in detail) == ("failed", True), detail
    assert parts_in(desk.store) == 0
    assert desk.agents.nexts[-1].forget


async def test_a_result_that_changes_meanwhile_is_refused(desk: Desk) -> None:
    """Size and digest of the first part hold for all parts."""
    capture, body = desk.order(), some_bytes(3 * PART)
    desk.orders.take("host1", part(capture.id, body))
    await desk.orders.written()
    desk.orders.take("host1", part(capture.id, body + b"more", PART))
    await desk.orders.written()
    assert desk.state(capture) == ("failed", "the agent changed the result during its transfer")
    assert parts_in(desk.store) == 0


async def test_a_second_answer_changes_nothing(desk: Desk) -> None:
    """A message after the end of a capture belongs to no order."""
    capture, body = desk.order(), some_bytes(100)
    await desk.upload(capture, body)
    assert not desk.orders.take("host1", part(capture.id, some_bytes(50)))
    assert not desk.orders.take("host1", pb.Captured(id=capture.id, state=pb.Captured.FAILED, detail="late"))
    assert desk.state(capture)[0] == "done"
    assert b"".join(desk.orders.archive.parts(desk.orders.captures.find()[0])) == body
    assert desk.metrics.captures_refused._value.get() == 2


async def test_another_host_cannot_answer(desk: Desk) -> None:
    """A part of a host that was not asked is refused, and the order goes on."""
    capture = desk.order("host1")
    assert not desk.orders.take("host2", part(capture.id, b"forged"))
    assert not desk.orders.take("host2", pb.Captured(id=capture.id, state=pb.Captured.FAILED, detail="forged"))
    assert desk.state(capture) == ("ordered", "")
    await desk.upload(capture, b"real")
    assert desk.state(capture)[0] == "done"


async def test_an_order_that_nobody_accepts_ends_with_the_version_of_the_agent(desk: Desk) -> None:
    """An older agent ignores orders: the reason names its version and what to do."""
    capture = desk.order()
    desk.clock.advance(ACCEPT_SECONDS + 0.1)
    desk.orders.every_second()
    state, detail = desk.state(capture)
    assert state == "failed"
    assert "the agent (0.1.0) on host1 did not accept the order" in detail
    assert "update it" in detail


async def test_an_accepted_order_ends_at_its_limit_whatever_is_reported(desk: Desk) -> None:
    """Progress does not extend the time of a capture."""
    capture = desk.order()
    for seconds in (5.0, capture.seconds, ANSWER_GRACE_SECONDS):
        desk.orders.take("host1", pb.Captured(id=capture.id, state=pb.Captured.RUNNING, detail="step 1 of 3"))
        assert desk.state(capture) == ("running", "step 1 of 3")
        desk.clock.advance(seconds)
    desk.orders.every_second()
    assert desk.state(capture) == ("failed", "no answer from host1 within 135 s")


@pytest.mark.parametrize("pause", [STALL_SECONDS + 1, MOST_SECONDS / 40])
async def test_a_transfer_that_stalls_or_creeps_ends(desk: Desk, pause: float) -> None:
    """An agent that stops in the middle, or sends for half an hour, does not hold a capture for ever."""
    capture, body = desk.order(), some_bytes(64 * 16 * 1024)
    for number in range(60):
        if desk.state(capture)[0] == "failed":
            break
        desk.orders.take("host1", part(capture.id, body, number * 16 * 1024, 16 * 1024))
        await desk.orders.written()
        desk.clock.advance(pause)
        desk.orders.every_second()
    await desk.orders.written()
    assert "the transfer did not end" in desk.state(capture)[1]
    assert parts_in(desk.store) == 0


async def test_a_reason_is_kept_and_printable(desk: Desk) -> None:
    """The agent's words are data: control characters are replaced, and they are cut."""
    capture = desk.order()
    desk.orders.take(
        "host1", pb.Captured(id=capture.id, state=pb.Captured.FAILED, detail="no\x1b[31m way" + "y" * 9000)
    )
    state, detail = desk.state(capture)
    assert (state, detail[:12], len(detail)) == ("failed", "no [31m wayy", 500)


async def test_a_file_name_cannot_leave_its_folder(desk: Desk) -> None:
    """A name that is not a plain file name is replaced."""
    capture = desk.order()
    desk.orders.take("host1", part(capture.id, b"x", file_name="../../etc/passwd"))
    await desk.orders.written()
    found = desk.orders.captures.get(capture.id)
    assert found is not None
    assert found.file_name == "trace.json.gz"


async def test_a_host_without_a_stream_is_an_answer_at_once(desk: Desk) -> None:
    """Nothing waits for a host that is not connected."""
    desk.agents.connected = False
    assert desk.state(desk.order()) == ("failed", "host host1 is not connected")


async def test_captures_in_progress_are_limited(desk: Desk) -> None:
    """One more than the limit is refused, and nothing of that request is ordered."""
    desk.orders.order(request(), [target(rank=rank) for rank in range(MAX_ACTIVE - 1)])
    with pytest.raises(TooManyCaptures, match="the limit is 256"):
        desk.orders.order(request(), [target(rank=1000), target(rank=1001)])
    assert len(desk.agents.orders) == MAX_ACTIVE - 1


async def test_the_oldest_captures_make_room(store: Store) -> None:
    """Beyond the limit of all captures the oldest are deleted with their parts; a larger one than the limit fails."""
    async with open_desk(store, CapturesSettings(max_bytes=3 * PART)) as desk:
        ordered = []
        for _ in range(4):
            ordered.append(desk.order())
            await desk.upload(ordered[-1], some_bytes(PART - 100))
        kept = [desk.orders.captures.get(capture.id) is not None for capture in ordered]
        assert kept == [False, True, True, True]
        assert desk.orders.captures.stored_bytes <= 3 * PART
        await desk.orders.written()
        assert parts_in(store) == 3
        huge, body = desk.order(), some_bytes(4 * PART)
        for offset in range(0, len(body), PART):
            if desk.state(huge)[0] != "failed":
                desk.orders.take("host1", part(huge.id, body, offset))
                await desk.orders.written()
        assert "exceed captures.max_bytes" in desk.state(huge)[1]


async def test_old_captures_are_deleted(desk: Desk) -> None:
    """They are kept for as long as events."""
    capture = desk.order()
    await desk.upload(capture, b"x")
    desk.clock.advance(29 * 86_400)
    desk.orders.every_second()
    assert desk.orders.captures.get(capture.id) is not None
    desk.clock.advance(2 * 86_400)
    desk.orders.every_second()
    await desk.orders.written()
    assert desk.orders.captures.get(capture.id) is None
    assert desk.store.list_documents("capture") == []


async def test_a_restart_ends_what_was_in_progress(store: Store) -> None:
    """Its parts are deleted, and its description has the reason."""
    async with open_desk(store) as desk:
        capture = desk.order()
        desk.orders.take("host1", part(capture.id, some_bytes(2 * PART)))
    assert parts_in(store) == 1
    async with open_desk(store) as again:
        assert again.state(capture) == ("failed", "the collector was restarted meanwhile")
        await again.orders.written()
        assert parts_in(store) == 0
        assert not again.orders.take("host1", part(capture.id, some_bytes(2 * PART), PART))
        assert again.agents.nexts[-1].forget, "the agent deletes its file"


async def test_a_removed_host_takes_its_captures_along(store: Store) -> None:
    """The list forgets them, and the store deletes their documents with the host."""
    async with open_desk(store) as desk:
        for host in ("host1", "host2"):
            await desk.upload(desk.order(host), b"x")
        desk.orders.remove_host("host1")
        store.remove_host("host1")
        assert [capture.host for capture in desk.orders.captures.find()] == ["host2"]
        assert [document.id.split("/")[0] for document in store.list_documents("capture")] == ["host2"]
        assert parts_in(store) == 1


class FullStore(MemoryStore):
    """A store that has no room for parts."""

    def put_document(self, kind: str, id: str, body: bytes, *, expected: int | None = None) -> int:  # noqa: A002
        if kind == PART_KIND:
            raise StoreUnavailable("the disk is full")
        return super().put_document(kind, id, body, expected=expected)


async def test_a_store_that_refuses_is_a_reason() -> None:
    """The capture fails with the store's words, and later ones are tried again."""
    async with open_desk(FullStore()) as desk:
        for _ in range(2):
            capture = desk.order()
            desk.orders.take("host1", part(capture.id, some_bytes(100)))
            await desk.orders.written()
            assert desk.state(capture) == ("failed", "the store refused it: the disk is full")


async def test_a_missing_part_is_a_clear_error(desk: Desk) -> None:
    """A result with a hole is not returned as a whole one."""
    capture = desk.order()
    await desk.upload(capture, some_bytes(2 * PART))
    found = desk.orders.captures.find()[0]
    desk.store.delete_document(PART_KIND, f"{found.document}/{PART:012}")
    with pytest.raises(StoreError, match="the part at byte 131072 is missing"):
        list(desk.orders.archive.parts(found))


async def test_many_agents_that_do_not_wait_take_little_memory() -> None:
    """While the store hangs, 64 agents send 20 parts each: one part of each is kept, and the rest refused."""
    store = FlakyStore()
    async with open_desk(store) as desk:
        captures = [desk.order(f"host{number}") for number in range(64)]
        await desk.orders.written()
        store.open.clear()
        body = some_bytes(20 * PART)
        try:
            messages = [part("", body, number * PART) for number in range(20)]
            tracemalloc.start()
            taken = 0
            for capture in captures:
                for message in messages:
                    copy = pb.Captured()
                    copy.CopyFrom(message)
                    copy.id = capture.id
                    taken += desk.orders.take(capture.host, copy)
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        finally:
            store.open.set()
        assert taken == 64
        assert peak < 64 * PART * 1.5, "nothing but the parts that are about to be written"
        await desk.orders.written()
        assert {n.offset for n in desk.agents.nexts if not n.forget} == {PART}
