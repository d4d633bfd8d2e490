"""The agent passes offers to the ranks that declared the value, and their answers to the collector and the record."""

import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from flyball_agent.adjustments.able_process import MAX_OFFERS, MAX_UNKNOWN_ANSWERS
from flyball_agent.adjustments.outbox import OUTCOMES_OF_RECORD
from flyball_agent.testing import until_true
from flyball_proto.v1 import adjust_pb2 as adjust
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


def commit(**fields: Any) -> adjust.CollectorAdjust:
    return adjust.CollectorAdjust(commit=adjust.Commit(**{"id": ID, "term": 1, "run": "a-run", **fields}))


def withdraw(**fields: Any) -> adjust.CollectorAdjust:
    chosen = {"id": ID, "term": 1, "run": "a-run", "reason": "the run ended", **fields}
    return adjust.CollectorAdjust(withdraw=adjust.Withdraw(**chosen))


async def test_a_declaration_reaches_the_collector_with_the_kernels_ids(host: DeskOfHost) -> None:
    """The collector gets the values as JSON texts, and the process id and user id that the kernel reports."""
    client = await host.client(rank=1)
    (found,) = host.sent("able")
    assert (found.run, found.rank, found.world_size, found.pid, found.uid) == ("a-run", 1, 2, os.getpid(), os.getuid())
    assert (found.policy, found.register, found.step, found.step_seconds) == ("auto", "c10d", 120, 0.012)
    (value,) = found.values
    assert (value.name, value.value, list(value.choices)) == ("micro_batch", "16", ["1", "2", "4", "8", "16"])
    assert (value.safety, value.when, value.lever) == (2, "step", "micro_batch")
    assert dict(value.facts) == {"per_rank": "64", "normalised": "tokens"}
    client.close()
    left: list[Any] = []

    def has_left() -> bool:
        left.extend(host.sent("left"))
        return bool(left)

    await until_true(has_left)
    assert (left[0].run, left[0].rank, left[0].pid) == ("a-run", 1, os.getpid())


async def test_a_process_learns_whether_it_can_be_offered_anything(tmp_path: Path) -> None:
    """With adjustments off, the agent behaves like one that does not know them; a switch is announced."""
    async with desk_of_host(tmp_path, enabled=False) as host:
        client = await host.connect()
        for message in (able(), {"kind": "prepared", "id": ID}, {"kind": "oom", "step": 1}):
            assert await client.request(message) == {"kind": "ignored", "ignored": message["kind"]}
        assert await client.has_no("adjustments")
        host.desk.switch(enabled=True)
        assert await client.pushed_line("adjustments") == {"kind": "adjustments", "enabled": True}
        assert await client.request(able()) == {"kind": "ok"}
        second = await host.connect(rank=1)
        assert await second.pushed_line("adjustments") == {"kind": "adjustments", "enabled": True}
        host.desk.take(offer())
        await client.pushed_line("offer")
        host.desk.switch(enabled=False)
        assert (await client.pushed_line("withdraw"))["id"] == ID
        assert await client.pushed_line("adjustments") == {"kind": "adjustments", "enabled": False}
        assert (await client.request(able()))["kind"] == "ignored"


async def test_a_client_that_declares_nothing_is_left_alone(host: DeskOfHost) -> None:
    """An older client ignores the announcement, gets no offer, and its steps are recorded as before."""
    client = await host.connect()
    host.desk.take(offer())
    assert host.refusals() == [(0, "unknown_run")]
    assert await client.has_no("offer")
    assert client.pushed == [{"kind": "adjustments", "enabled": True}]
    assert [each.step for each in host.socket.registry.take_reports()] == [1]


async def test_a_change_goes_through_all_ranks_of_the_run_on_this_host(host: DeskOfHost) -> None:
    """Offer and commit reach each rank of the run and nobody else; each answer reaches collector and record."""
    ranks = [await host.client(rank=0), await host.client(rank=1)]
    other = await host.client(run="another", rank=0, world_size=1)
    host.desk.take(offer())
    for rank, client in enumerate(ranks):
        assert await client.pushed_line("offer") == {
            "kind": "offer", "id": ID, "name": "micro_batch", "from": 16, "to": 8, "at": 240, "attempt": 0,
            "expires_seconds": 30, "safety": 2, "because": "memory_exhaustion",
        }  # fmt: skip
        assert await client.request({"kind": "prepared", "id": ID, "step": 130 + rank}) == {"kind": "ok"}
    host.desk.take(commit())
    for client in ranks:
        assert await client.pushed_line("commit") == {"kind": "commit", "id": ID}
        assert (await client.request({"kind": "applied", "id": ID, "step": 240, "observed": 8}))["kind"] == "ok"
    assert await other.has_no("offer")
    assert await other.has_no("commit")
    answers = [(each.rank, each.verdict, each.step, each.observed) for each in host.sent("answer")]
    prepared, applied = adjust.Answer.PREPARED, adjust.Answer.APPLIED
    assert answers == [(0, prepared, 130, ""), (1, prepared, 131, ""), (0, applied, 240, "8"), (1, applied, 240, "8")]
    outcomes = host.desk.take_outcomes()
    assert [(each.outcome, each.rank, each.to, each.observed) for each in outcomes] == [
        ("prepared", 0, "8", ""), ("prepared", 1, "8", ""), ("applied", 0, "8", "8"), ("applied", 1, "8", "8"),
    ]  # fmt: skip
    assert {each.time_ns for each in outcomes} == {host.clock.wall_ns()}
    assert host.desk.take_outcomes() == []


async def test_ranks_that_differ_get_each_its_own_change(host: DeskOfHost) -> None:
    """An offer may name the value of each rank; one that it does not name refuses, because it is not up to date."""
    ranks = [await host.client(rank=rank) for rank in range(3)]
    host.desk.take(offer(**{"from": '{"0": 16, "1": 4}', "to": '{"0": 8, "1": 2.0, "2": 1}'}))
    lines = [await client.pushed_line("offer") for client in ranks[:2]]
    assert [(line["from"], line["to"]) for line in lines] == [(16, 8), (4, 2)]
    assert host.refusals() == [(2, "stale")]
    await ranks[1].request({"kind": "applied", "id": ID, "step": 240, "observed": 2})
    noted = {each.rank: each for each in host.desk.take_outcomes()}
    assert (getattr(noted[1], "from"), noted[1].to, noted[2].outcome) == ("4", "2.0", "refused")


async def test_a_veto_and_its_reason_reach_the_collector(host: DeskOfHost) -> None:
    """The reason is printable, and of limited length."""
    client = await host.client()
    host.desk.take(offer())
    await client.pushed_line("offer")
    await client.request({"kind": "veto", "id": ID, "step": 7, "reason": "batch\nnorm"})
    (answer,) = host.sent("answer")
    assert (answer.verdict, answer.step, answer.reason) == (adjust.Answer.VETO, 7, "batch norm")
    assert (await client.request({"kind": "veto", "id": ID, "reason": "x" * 501}))["error"].startswith("veto: reason:")


@pytest.mark.parametrize(
    ("fields", "refusal"),
    [
        ({"run": "nobody"}, (0, "unknown_run")),
        ({"attempt": 1}, (0, "attempt")),
        ({"term": 0}, (0, "term")),
        ({"name": "learning_rate"}, (1, "unknown_value")),
        ({"to": "32"}, (1, "not_a_choice")),
        ({"to": "true"}, (1, "not_a_choice")),
        ({"to": "NaN"}, (0, "not_a_choice")),
        ({"to": '{"a":1}'}, (0, "not_a_choice")),
        ({"to": '{"0":[1]}'}, (0, "not_a_choice")),
        ({"to": '{"1":8,"-1":'}, (0, "not_a_choice")),
        ({"to": "{}"}, (0, "not_a_choice")),
        ({"from": '{"0":16}'}, (1, "stale")),
        ({"to": "8, 9"}, (0, "not_a_choice")),
        ({"from": ""}, (0, "not_a_choice")),
        ({"safety": 5}, (0, "invalid_offer")),
        ({"at_step": 2**64 - 1}, (0, "invalid_offer")),
    ],
)
async def test_what_no_process_declared_is_refused_by_the_agent(
    host: DeskOfHost, fields: dict[str, Any], refusal: tuple[int, str]
) -> None:
    """The process never sees it, and the refusal is recorded with its reason."""
    client = await host.client(rank=1)
    host.desk.take_welcome(adjust.AdjustWelcome(term=1))
    host.desk.take(offer(**fields))
    assert host.refusals() == [refusal]
    (outcome,) = host.desk.take_outcomes()
    assert (outcome.id, outcome.outcome, outcome.reason) == (ID, "refused", refusal[1])
    assert await client.has_no("offer")


@pytest.mark.parametrize("bad", ["", "../../etc/passwd", "0" * 15, "G" * 16, "0" * 400])
async def test_an_offer_without_a_valid_id_is_dropped(host: DeskOfHost, bad: str) -> None:
    """Nothing can be answered to it."""
    client = await host.client()
    host.desk.take(offer(id=bad))
    assert host.sent("answer") == []
    assert await client.has_no("offer")


async def test_one_offer_at_a_time(host: DeskOfHost) -> None:
    """A second offer is refused while a rank may still act on the first; the same one again is passed again."""
    client = await host.client()
    host.desk.take(offer())
    host.desk.take(offer())
    host.desk.take(offer(id="00000000000000a2"))
    assert host.refusals() == [(0, "busy")]
    assert [(await client.pushed_line("offer"))["id"] for _ in range(2)] == [ID, ID]
    await client.request({"kind": "aborted", "id": ID, "step": 240, "reason": "late"})
    host.desk.take(offer(id="00000000000000a2"))
    assert (await client.pushed_line("offer"))["id"] == "00000000000000a2"
    host.advance(61)
    host.desk.take(offer(id="00000000000000a3"))
    assert (await client.pushed_line("offer"))["id"] == "00000000000000a3"


async def test_a_committed_change_does_not_keep_other_offers_away(host: DeskOfHost) -> None:
    """It may wait for an epoch for long, and a rank that has not decided yet refuses other offers itself."""
    client = await host.client()
    host.desk.take(offer())
    await client.pushed_line("offer")
    await client.request({"kind": "prepared", "id": ID})
    host.desk.take(offer(id="00000000000000a2"))
    assert host.refusals() == [(0, "busy")]
    host.desk.take(commit())
    host.desk.take(offer(id="00000000000000a3"))
    assert (await client.pushed_line("offer"))["id"] == "00000000000000a3"


async def test_an_offer_that_waits_for_an_epoch_is_remembered_beside_many_others(host: DeskOfHost) -> None:
    """Its outcome names the value, although a run that is throttled for hours had many other offers meanwhile."""
    client = await host.client()
    host.desk.take(offer())
    await client.request({"kind": "prepared", "id": ID})
    host.desk.take(commit())
    for number in range(MAX_OFFERS):
        host.advance(1.0)
        other = f"{number:016x}"
        host.desk.take(offer(id=other))
        await client.request({"kind": "aborted", "id": other, "step": 240, "reason": "late"})
    host.desk.take_outcomes()
    await client.request({"kind": "applied", "id": ID, "step": 900, "observed": 8})
    newest = host.desk.take_outcomes()[-1]
    assert (newest.id, newest.name) == (ID, "micro_batch")


async def test_a_change_can_be_undone_although_the_old_value_is_not_a_choice(host: DeskOfHost) -> None:
    """A value that the rank had before is allowed, and equal numbers are equal in any spelling."""
    client = await host.connect()
    await client.request(able({**MICRO_BATCH, "value": 12, "choices": [4, 8]}))
    await client.request(able({**MICRO_BATCH, "value": 8, "choices": [4, 8]}))
    host.desk.take(offer(**{"from": "8", "to": "12.0"}))
    assert (await client.pushed_line("offer"))["to"] == 12


async def test_a_value_without_choices_keeps_its_type(host: DeskOfHost) -> None:
    """Any number is allowed for a number, but neither a text nor true."""
    client = await host.connect()
    await client.request(able({"name": "pool", "value": 4}))
    for to in ('"8"', "true"):
        host.desk.take(offer(name="pool", to=to))
    assert host.refusals() == [(0, "not_a_choice"), (0, "not_a_choice")]
    host.desk.take(offer(name="pool", to="7"))
    assert (await client.pushed_line("offer"))["to"] == 7


async def test_messages_of_an_older_term_are_not_passed_on(host: DeskOfHost) -> None:
    """A collector that was replaced can neither commit nor withdraw."""
    client = await host.client()
    host.desk.take(offer(term=5))
    host.desk.take(commit(term=4))
    host.desk.take(withdraw(term=4))
    await client.pushed_line("offer")
    assert await client.has_no("commit")
    assert await client.has_no("withdraw")
    assert not host.desk.take_welcome(adjust.AdjustWelcome(term=4))
    host.desk.take(withdraw(term=5))
    assert await client.pushed_line("withdraw") == {"kind": "withdraw", "id": ID, "reason": "the run ended"}


async def test_answers_to_what_was_never_offered_are_errors(host: DeskOfHost) -> None:
    """They reach nobody; a change that was made under an earlier start of the agent is passed on, a few times."""
    client = await host.client()
    for kind in ("prepared", "veto"):
        answer = await client.request({"kind": kind, "id": ID})
        assert answer == {"kind": "error", "error": f"{kind}: id: no adjustment '{ID}' waits for this answer"}
    assert host.self_metrics.client_errors == 2
    assert host.sent("answer") == []
    answers = [
        await client.request({"kind": "applied", "id": f"{n:016x}", "observed": 8, "step": 9})
        for n in range(MAX_UNKNOWN_ANSWERS + 1)
    ]
    assert [each["kind"] for each in answers] == ["ok"] * MAX_UNKNOWN_ANSWERS + ["error"]
    assert [each.verdict for each in host.sent("answer")] == [adjust.Answer.APPLIED] * MAX_UNKNOWN_ANSWERS


async def test_after_a_start_of_the_agent_a_rank_may_answer_before_it_declares(host: DeskOfHost) -> None:
    """It made the change while no agent was there. Other answers depend on an offer, and there is none."""
    client = await host.connect(rank=1)
    assert (await client.request({"kind": "prepared", "id": ID, "step": 130}))["kind"] == "error"
    assert (await client.request({"kind": "applied", "id": ID, "step": 240, "observed": 8}))["kind"] == "ok"
    (answer,) = host.sent("answer")
    assert (answer.run, answer.rank, answer.pid, answer.observed) == ("a-run", 1, os.getpid(), "8")
    assert [each.outcome for each in host.desk.take_outcomes()] == ["applied"]
    assert host.sent("able") == []


@pytest.mark.parametrize("ending", [commit, withdraw])
async def test_after_a_start_of_the_agent_a_rank_is_asked_for_its_last_word(
    host: DeskOfHost, ending: Callable[[], adjust.CollectorAdjust]
) -> None:
    """It was offered the change before. The collector repeats how the offer went on, and the rank what it has done."""
    client = await host.client()
    other = await host.client(run="another", rank=0, world_size=1)
    host.desk.take(ending())
    assert (await client.pushed_line(ending().WhichOneof("kind") or ""))["id"] == ID
    assert (await client.request({"kind": "veto", "id": ID, "step": 240, "reason": "loader_gone"}))["kind"] == "ok"
    assert [(each.rank, each.verdict) for each in host.sent("answer")] == [(0, adjust.Answer.VETO)]
    assert [each.outcome for each in host.desk.take_outcomes()] == ["veto"]
    assert await other.has_no(ending().WhichOneof("kind") or "")


async def test_an_offer_that_the_agent_does_not_know_is_checked_whatever_came_before(host: DeskOfHost) -> None:
    """A commit does not make an offer known: only values and choices that the process declared are passed on."""
    client = await host.client()
    host.desk.take(commit())
    host.desk.take(offer(name="learning_rate"))
    assert host.refusals() == [(0, "unknown_value")]
    assert await client.has_no("offer")


async def test_the_end_of_an_earlier_attempt_reaches_no_rank_of_the_next(host: DeskOfHost) -> None:
    """Its ranks have begun again with their own values."""
    client = await host.client()
    host.desk.take(commit(attempt=1))
    assert await client.has_no("commit")


async def test_an_offer_without_an_answer_expires_in_the_record(host: DeskOfHost) -> None:
    """It is recorded once, for the rank that did not answer."""
    answering, mute = await host.client(rank=0), await host.client(rank=1)
    host.desk.take(offer(expires_seconds=5))
    await answering.pushed_line("offer")
    await answering.request({"kind": "prepared", "id": ID})
    await mute.pushed_line("offer")
    host.advance(5.5)
    assert [each.outcome for each in host.desk.take_outcomes()] == ["prepared"]
    host.advance(1)
    assert [(each.outcome, each.rank, each.id) for each in host.desk.take_outcomes()] == [("expired", 1, ID)]
    host.advance(60)
    assert host.desk.take_outcomes() == []


async def test_running_out_of_memory_is_recorded(host: DeskOfHost) -> None:
    """The reaction of the rank reaches the collector at once, and the record."""
    client = await host.client(rank=1)
    message = {
        "kind": "oom", "step": 251, "where": "backward", "name": "micro_batch", "from": 8, "to": 4, "recovered": True,
        "retry_seconds": 0.8,
    }  # fmt: skip
    assert await client.request(message) == {"kind": "ok"}
    (found,) = host.sent("out_of_memory")
    assert (found.run, found.rank, found.pid, found.step, found.where) == ("a-run", 1, os.getpid(), 251, "backward")
    assert (getattr(found, "from"), found.to, found.recovered, found.retry_seconds) == ("8", "4", True, 0.8)
    (outcome,) = host.desk.take_outcomes()
    assert (outcome.outcome, outcome.id, outcome.seconds) == ("out_of_memory", "", 0.8)
    assert outcome.reason == "in backward"


async def test_a_new_stream_gets_the_values_and_the_recent_answers(host: DeskOfHost) -> None:
    """Anything that an earlier stream may have lost is sent again; old answers are not."""
    client = await host.client()
    host.desk.take(offer())
    await client.pushed_line("offer")
    await client.request({"kind": "prepared", "id": ID})
    host.desk.outbox.end_stream()
    await client.request({"kind": "applied", "id": ID, "observed": 8})
    host.desk.begin_stream(lambda: None)
    kinds = [each.WhichOneof("kind") or "" for each in host.desk.outbox.take()]
    assert sorted(kinds) == ["able", "answer", "answer"]
    host.advance(601)
    host.desk.begin_stream(lambda: None)
    assert [each.WhichOneof("kind") for each in host.desk.outbox.take()] == ["able"]


async def test_a_record_takes_a_limited_number_of_outcomes(host: DeskOfHost) -> None:
    """The others go into the next ones."""
    clients = [await host.client(rank=rank, world_size=4) for rank in range(4)]
    for n in range(20):
        for client in clients:
            await client.request({"kind": "oom", "step": n})
    assert [len(host.desk.take_outcomes()) for _ in range(3)] == [OUTCOMES_OF_RECORD, 80 - OUTCOMES_OF_RECORD, 0]
