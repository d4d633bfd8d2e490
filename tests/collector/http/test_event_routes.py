"""The timeline and silences over HTTP."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.http.parts import Parts
from flyball_collector.http.testing import Answered, Clock, fetch, make_parts, serving
from flyball_collector.notify.silences import SILENCE
from flyball_collector.security.tokens import Role, TokensFile, new_token
from flyball_collector.testing import FlakyStore
from flyball_collector.timeline.documents import puts_of
from flyball_collector.timeline.entry import entry_of
from flyball_collector.timeline.testing import NOW_NS, SECOND_NS, cleared, make_event

OPERATOR = {"X-Flyball-Operator": "1"}
PUBLIC = {"time", "host", "gpu", "kind", "state", "severity", "confidence", "seconds_left", "because"}


def timeline_parts() -> Parts:
    """A memory alarm, a lost host that is back, and a straggler of a run; a minute later."""
    parts = make_parts(clock=Clock(NOW_NS + 60 * SECOND_NS))
    lost = make_event("host_lost", "b", at=1, subject=Subject("b"))
    slow = make_event("straggler", at=2, subject=Subject("a", run="r", rank=3))
    parts.timeline.take(
        [make_event(host="a", seconds_left=90.0, subject=Subject("a", "GPU-1"), gpu_index=3), lost, slow]
    )
    parts.timeline.take([cleared(lost, after=30)])
    return parts


async def events(url: str, query: str = "") -> list[tuple[str, str]]:
    told = (await fetch(f"{url}/api/v1/events?{query}")).json()
    return [(event["kind"], event["state"]) for event in told["events"]]


async def test_the_timeline_is_told_newest_first() -> None:
    """Every entry in the public form; numbers that are unknown are null, names that do not apply too."""
    async with serving(timeline_parts()) as url:
        told = (await fetch(f"{url}/api/v1/events")).json()
    assert [event["kind"] for event in told["events"]] == ["host_lost", "straggler", "host_lost", "memory_exhaustion"]
    last = told["events"][-1]
    assert set(last) >= PUBLIC
    assert (last["time"], last["seconds_left"], last["run"]) == ("2030-03-17T17:46:40.000Z", 90.0, None)
    assert last["evidence"] == {"used_ratio": 0.93}
    assert [(event["gpu"], event["gpu_index"]) for event in told["events"][2:]] == [(None, None), ("GPU-1", 3)]
    assert (told["next"], told["complete"]) == (None, True)


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
async def test_it_is_filtered(query: str, kinds: list[str]) -> None:
    """By host, run, GPU, kind, state, severity and time, in either order."""
    async with serving(timeline_parts()) as url:
        assert [kind for kind, _ in await events(url, query)] == kinds


async def test_pages_follow_each_other() -> None:
    """`next` leads to the rest; an id as cursor asks for what came after it."""
    async with serving(timeline_parts()) as url:
        first = (await fetch(f"{url}/api/v1/events?limit=3")).json()
        assert await events(url, f"limit=3&cursor={first['next']}") == [("memory_exhaustion", "raised")]
        seen = first["events"][0]["id"]
        assert await events(url, f"order=oldest&cursor={seen}") == []


async def test_what_stands_is_told_worst_first() -> None:
    """Conditions with their newest word; whether those of before a restart are known yet is said."""
    parts = timeline_parts()
    async with serving(parts) as url:
        told = (await fetch(f"{url}/api/v1/conditions")).json()
        assert ([each["kind"] for each in told["conditions"]], told["loaded"]) == (
            ["memory_exhaustion", "straggler"],
            False,
        )
        await parts.timeline.load()
        assert (await fetch(f"{url}/api/v1/conditions?run=r&limit=1")).json()["loaded"]


async def test_a_store_that_is_down_leaves_memory() -> None:
    """What was just said is still told, and that it is not everything."""
    store = FlakyStore()
    old = entry_of(make_event(at=-5000))
    store.put_documents(puts_of(old))
    parts = make_parts(store, clock=Clock(NOW_NS))
    parts.timeline.take([make_event()])
    async with serving(parts) as url:
        assert len(await events(url)) == 2
        store.down = True
        told = (await fetch(f"{url}/api/v1/events")).json()
    assert (len(told["events"]), told["complete"]) == (1, False)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("kind=stragler", "straggler"), ("state=perhaps", "state"), ("severity=bad", "severity"), ("limit=0", "limit"),
        ("start=soon", "start"), ("order=random", "order"), ("cursor=" + "x" * 200, "cursor"),
    ],
)  # fmt: skip
async def test_a_wrong_question_is_named(query: str, said: str) -> None:
    """One JSON error that names the parameter, or what was meant."""
    async with serving(make_parts()) as url:
        told = await fetch(f"{url}/api/v1/events?{query}")
    assert told.status == 400
    assert said in str(told.json()["error"])


async def test_every_kind_is_listed() -> None:
    """The closed list, with what each means."""
    async with serving(make_parts()) as url:
        told = (await fetch(f"{url}/api/v1/kinds")).json()
    assert {each["kind"] for each in told} == set(BY_NAME)
    assert all(each["meaning"] for each in told)


async def test_a_removed_host_takes_its_timeline_along() -> None:
    """Forgetting a host forgets what happened on it."""
    parts = timeline_parts()
    parts.fleet.ensure("a")
    async with serving(parts) as url:
        await fetch(f"{url}/api/v1/hosts/a", method="DELETE", headers=OPERATOR)
        assert {kind for kind, _ in await events(url)} == {"host_lost"}


async def silence(url: str, headers: dict[str, str] | None = None, **asked: Any) -> Answered:
    body = msgspec.json.encode(asked)
    sent = {"Content-Type": "application/json", **(OPERATOR if headers is None else headers)}
    return await fetch(f"{url}/api/v1/silences", method="POST", headers=sent, body=body)


async def test_a_silence_is_made_stored_listed_and_ended() -> None:
    """In force at once and after a restart; ended when told."""
    parts = make_parts()
    async with serving(parts) as url:
        made = await silence(url, matchers={"host": "node-*"}, seconds=3600, comment="moving racks")
        assert made.status == 201
        told = made.json()
        assert told["until"]["unix"] - told["created"]["unix"] == 3600
        assert (await fetch(f"{url}/api/v1/silences")).json() == [told]
        assert parts.silences.silence_of(entry_of(make_event()), parts.clock()) is not None
        assert len(parts.store.list_documents(SILENCE)) == 1
        gone = await fetch(f"{url}/api/v1/silences/{told['id']}", method="DELETE", headers=OPERATOR)
        assert gone.status == 200
        assert (await fetch(f"{url}/api/v1/silences")).json() == []
        assert parts.store.list_documents(SILENCE) == []
        assert (await fetch(f"{url}/api/v1/silences/{told['id']}", method="DELETE", headers=OPERATOR)).status == 404


@pytest.mark.parametrize(
    "asked",
    [
        {}, {"matchers": {}}, {"matchers": {"host": "*"}, "seconds": 60}, {"matchers": {"host": "a"}},
        {"matchers": {"host": "a"}, "seconds": -5}, {"matchers": {"host": "a"}, "seconds": 1e12},
        {"matchers": {"host": "a"}, "until": "soon"}, {"matchers": {"host": "a"}, "until": "-5m"},
        {"matchers": {"host": "a"}, "seconds": 5, "until": "2040-01-01T00:00:00Z"},
        {"matchers": {"colour": "red"}, "seconds": 5}, {"matchers": {"host": "a"}, "seconds": 5, "more": 1},
        {"matchers": ["host"], "seconds": 5},
    ],
)  # fmt: skip
async def test_a_senseless_silence_is_refused(asked: dict[str, Any]) -> None:
    """A clear error, and nothing is silenced."""
    parts = make_parts()
    async with serving(parts) as url:
        told = await silence(url, **asked)
    assert told.status == 400
    assert told.json()["error"]["code"] in {"bad_value", "bad_request"}
    assert parts.silences.active(0) == []


async def test_only_operators_silence(tmp_path: Path) -> None:
    """A viewer may look; whose silence it is comes from the token; a page of another site is kept out."""
    viewer, viewer_line = new_token(Role.VIEWER, "vera")
    operator, operator_line = new_token(Role.OPERATOR, "otto")
    (tmp_path / "tokens").write_text(f"{viewer_line}\n{operator_line}\n")
    parts = replace(make_parts(), tokens=TokensFile(tmp_path / "tokens"))
    asked = {"matchers": {"host": "a"}, "seconds": 60.0}
    async with serving(parts) as url:
        assert (await silence(url, {"Authorization": f"Bearer {viewer}"}, **asked)).status == 403
        made = await silence(url, {"Authorization": f"Bearer {operator}"}, **asked)
        assert made.json()["by"] == "otto"
        assert (await fetch(f"{url}/api/v1/silences", headers={"Authorization": f"Bearer {viewer}"})).status == 200
    async with serving(make_parts()) as url:
        assert (await silence(url, {}, **asked)).status == 403
