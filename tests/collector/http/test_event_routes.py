"""The timeline over HTTP."""

import pytest

from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.http.collector_parts import CollectorParts
from flyball_collector.http.testing import WallClock, fetch, make_parts, serving
from flyball_collector.testing import FlakyStore
from flyball_collector.timeline.entry import entry_of
from flyball_collector.timeline.entry_documents import puts_of
from flyball_collector.timeline.testing import NOW_NS, SECOND_NS, cleared, make_event

OPERATOR = {"X-Flyball-Operator": "1"}
PUBLIC = {"time", "host", "gpu", "kind", "state", "severity", "confidence", "seconds_left", "because"}


def timeline_parts() -> CollectorParts:
    """Return parts with a memory alarm, a lost host that is back, and a straggler, a minute later."""
    parts = make_parts(clock=WallClock(NOW_NS + 60 * SECOND_NS))
    lost = make_event("host_lost", "b", at=1, subject=Subject("b"))
    slow = make_event("straggler", at=2, subject=Subject("a", run="r", rank=3))
    parts.timeline.add_events(
        [make_event(host="a", seconds_left=90.0, subject=Subject("a", "GPU-1"), gpu_index=3), lost, slow]
    )
    parts.timeline.add_events([cleared(lost, after=30)])
    return parts


async def events(url: str, query: str = "") -> list[tuple[str, str]]:
    answer = (await fetch(f"{url}/api/v1/events?{query}")).json()
    return [(event["kind"], event["state"]) for event in answer["events"]]


async def test_the_timeline_is_listed_newest_first() -> None:
    """Entries have the public form. Unknown numbers and names that do not apply are null."""
    async with serving(timeline_parts()) as url:
        answer = (await fetch(f"{url}/api/v1/events")).json()
    assert [event["kind"] for event in answer["events"]] == ["host_lost", "straggler", "host_lost", "memory_exhaustion"]
    last = answer["events"][-1]
    assert set(last) >= PUBLIC
    assert (last["time"], last["seconds_left"], last["run"]) == ("2030-03-17T17:46:40.000Z", 90.0, None)
    assert last["evidence"] == {"used_ratio": 0.93}
    assert [(event["gpu"], event["gpu_index"]) for event in answer["events"][2:]] == [(None, None), ("GPU-1", 3)]
    assert (answer["next"], answer["complete"]) == (None, True)


@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ("host=a", ["straggler", "memory_exhaustion"]), ("run=r", ["straggler"]), ("gpu=GPU-1", ["memory_exhaustion"]),
        ("kind=host_lost&kind=straggler&state=raised", ["straggler", "host_lost"]),
        ("severity=critical&host=a", ["memory_exhaustion"]),
        ("state=cleared", ["host_lost"]), ("start=1900000001&end=1900000002", ["host_lost"]), ("host=nobody", []),
        ("order=oldest&limit=1", ["memory_exhaustion"]),
    ],
)  # fmt: skip
async def test_events_are_filtered(query: str, kinds: list[str]) -> None:
    """Filters by host, run, GPU, kind, state, severity and time work, in either order."""
    async with serving(timeline_parts()) as url:
        assert [kind for kind, _ in await events(url, query)] == kinds


async def test_pages() -> None:
    """`next` is the cursor of the next page. An id as cursor returns later entries."""
    async with serving(timeline_parts()) as url:
        first = (await fetch(f"{url}/api/v1/events?limit=3")).json()
        assert await events(url, f"limit=3&cursor={first['next']}") == [("memory_exhaustion", "raised")]
        seen = first["events"][0]["id"]
        assert await events(url, f"order=oldest&cursor={seen}") == []


async def test_active_conditions_are_listed_by_severity() -> None:
    """Conditions have their newest data, and `loaded` shows if those from before a restart are loaded."""
    parts = timeline_parts()
    async with serving(parts) as url:
        answer = (await fetch(f"{url}/api/v1/conditions")).json()
        assert ([each["kind"] for each in answer["conditions"]], answer["loaded"]) == (
            ["memory_exhaustion", "straggler"],
            False,
        )
        await parts.timeline.load()
        assert (await fetch(f"{url}/api/v1/conditions?run=r&limit=1")).json()["loaded"]


async def test_events_while_the_store_is_down() -> None:
    """Recent entries are returned from memory, and the answer is marked incomplete."""
    store = FlakyStore()
    old = entry_of(make_event(at=-5000))
    store.put_documents(puts_of(old))
    parts = make_parts(store, clock=WallClock(NOW_NS))
    parts.timeline.add_events([make_event()])
    async with serving(parts) as url:
        assert len(await events(url)) == 2
        store.down = True
        answer = (await fetch(f"{url}/api/v1/events")).json()
    assert (len(answer["events"]), answer["complete"]) == (1, False)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("kind=stragler", "straggler"), ("state=perhaps", "state"), ("severity=bad", "severity"), ("limit=0", "limit"),
        ("start=soon", "start"), ("order=random", "order"), ("cursor=" + "x" * 200, "cursor"),
    ],
)  # fmt: skip
async def test_invalid_parameters_are_errors(query: str, expected: str) -> None:
    """The error names the parameter or a similar value."""
    async with serving(make_parts()) as url:
        answer = await fetch(f"{url}/api/v1/events?{query}")
    assert answer.status == 400
    assert expected in str(answer.json()["error"])


async def test_every_kind_is_listed() -> None:
    """Each kind has a meaning."""
    async with serving(make_parts()) as url:
        answer = (await fetch(f"{url}/api/v1/kinds")).json()
    assert {each["kind"] for each in answer} == set(BY_NAME)
    assert all(each["meaning"] for each in answer)


async def test_removing_a_host_removes_its_timeline() -> None:
    """Events of the host are deleted."""
    parts = timeline_parts()
    parts.fleet.ensure("a")
    async with serving(parts) as url:
        await fetch(f"{url}/api/v1/hosts/a", method="DELETE", headers=OPERATOR)
        assert {kind for kind, _ in await events(url)} == {"host_lost"}
