"""The ranks that can change values."""

from time import process_time
from typing import Any

import pytest

from flyball_collector.adjustments.declared.ranks import (
    FORGET_AFTER_SECONDS,
    AbleRuns,
    RankValue,
    WrongDeclaration,
)
from flyball_proto.v1 import adjust_pb2 as pb
from tests.collector.adjustments.core_case import (
    RUN,
    SECOND,
    START_NS,
    CoreCase,
    able,
    able_message,
    micro_batch,
    rank_of,
)


def test_a_declaration_is_read_with_its_types() -> None:
    """Values and choices are parsed, and unknown numbers are None."""
    rank = rank_of(able_message(step_seconds=0.0))
    assert rank.step_seconds is None
    value = rank.values["micro_batch"]
    assert (value.value, value.choices, value.safety, value.lever) == (16, (1, 2, 4, 8, 16, 32), 2, "micro_batch")
    assert value.allows(8)
    assert not value.allows(3)
    assert not value.allows(True)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"run": ""}, "no name"),
        ({"rank": 2}, "rank 2 of 2"),
        ({"values": [pb.AdjustableValue(name="x", value="nan", safety=1)]}, "x: .*not a JSON"),
        ({"values": [pb.AdjustableValue(name="x", value="1", safety=9)]}, "safety 9"),
        ({"values": [pb.AdjustableValue(name="", value="1", safety=1)]}, "no name"),
        ({"values": [pb.AdjustableValue(name="x", value="1", safety=1, choices=["1"] * 65)]}, "64 choices"),
        ({"values": [pb.AdjustableValue(name=str(i), value="1", safety=1) for i in range(65)]}, "65 values"),
    ],
)
def test_a_wrong_declaration_is_refused_with_the_reason(fields: dict[str, Any], text: str) -> None:
    """A declaration that cannot be used is refused with its value and the fault."""
    with pytest.raises(WrongDeclaration, match=text):
        rank_of(able_message(**fields))


def test_a_value_without_choices_takes_its_own_kind() -> None:
    """A number may replace a number, but truth values and texts do not."""
    value = RankValue("workers", 4)
    assert [value.allows(each) for each in (8, 2.5, True, "8")] == [True, True, False, False]


def test_a_run_is_complete_with_all_its_ranks() -> None:
    """A run counts as complete if every rank of its world has declared itself once."""
    runs = AbleRuns()
    runs.put(able(1))
    assert (found := runs.run(RUN)) is not None
    assert not found.is_complete
    runs.put(able(0))
    assert (found := runs.run(RUN)) is not None
    assert found.is_complete
    assert found.hosts == ("node-0", "node-1")


def test_a_new_attempt_replaces_the_old_one() -> None:
    """Ranks of an older attempt are not mixed with new ones, and a late declaration of the old one is refused."""
    runs = AbleRuns()
    runs.put(able(0))
    runs.put(able(1))
    assert runs.put(able(1, attempt=1))
    assert not runs.put(able(0))
    assert (found := runs.run(RUN)) is not None
    assert [(rank.rank, rank.attempt) for rank in found.ranks] == [(1, 1)]
    assert len(runs) == 1


def test_two_hosts_cannot_have_the_same_rank() -> None:
    """A second host that claims a rank is refused while the first one repeats its declaration."""
    runs = AbleRuns()
    runs.put(able(0))
    assert not runs.put(able(0, host="stranger", received_ns=START_NS + SECOND))
    assert runs.put(able(0, host="node-9", received_ns=START_NS + 61 * SECOND))


@pytest.mark.parametrize("fields", [{"attempt": 1}, {"world_size": 8}, {"group": "job-2"}, {"rank": 1}])
def test_another_user_cannot_take_over_a_run(fields: dict[str, Any]) -> None:
    """A process of another user has no part in a run with the same name, whatever it declares."""
    runs = AbleRuns()
    runs.put(able(0, uid=1000))
    assert not runs.put(able(**{"rank": 0, "host": "stranger", "uid": 1001, **fields}))
    assert (found := runs.run(RUN)) is not None
    assert [rank.host for rank in found.ranks] == ["node-0"]
    assert runs.put(able(0, host="node-9", uid=1001, received_ns=START_NS + 61 * SECOND))


def test_a_late_declaration_does_not_bring_an_old_value_back() -> None:
    """A declaration that was made at an earlier step, and comes late, is not used."""
    runs = AbleRuns()
    runs.put(able(0, 1, micro_batch(8), step=200))
    assert runs.put(able(0, 1, micro_batch(16), step=150, received_ns=START_NS + 5 * SECOND))
    assert (found := runs.run(RUN)) is not None
    assert found.of("micro_batch")[0].value == 8


def test_ranks_go_with_their_host_their_process_or_their_words() -> None:
    """A lost stream, a process that leaves, and a long time without a declaration remove ranks."""
    runs = AbleRuns()
    for rank in range(3):
        runs.put(able(rank, 3))
    assert [rank.rank for rank in runs.host_lost("node-0")] == [0]
    assert not runs.left("node-1", pb.Left(run=RUN, rank=1, pid=999))
    assert runs.left("node-1", pb.Left(run=RUN, rank=1, pid=101))
    assert [rank.rank for rank in runs.forget_old(START_NS + int((FORGET_AFTER_SECONDS + 1) * SECOND))] == [2]
    assert runs.run(RUN) is None
    assert not runs.runs()


def test_the_newest_rank_is_the_one_that_declared_itself_last() -> None:
    """Also if it was known before; a reported change is not a declaration."""
    runs = AbleRuns()
    assert runs.newest(RUN) is None
    for rank in (0, 1, 0):
        runs.put(able(rank))
    runs.set_value(RUN, 1, "micro_batch", 8)
    assert runs.newest(RUN) == runs.rank(RUN, 0)


def test_a_declaration_costs_the_same_in_a_large_run() -> None:
    """Each of thousands of ranks declares itself every 30 s, so that none may look through all the others."""
    small, large = (_seconds_of_declarations(CoreCase(world)) for world in (32, 8192))
    assert large < 10 * small


def _seconds_of_declarations(case: CoreCase) -> float:
    """Return the CPU time of some declarations: the least of several tries."""
    found = []
    for _ in range(5):
        began = process_time()
        for rank in range(32):
            case.declare(rank)
        found.append(process_time() - began)
    return min(found)


def test_the_most_careful_rank_decides_for_all() -> None:
    """The policy is the strictest one, the register one that all have, the step the highest, its time the longest."""
    runs = AbleRuns()
    runs.put(able(0, step=90, step_seconds=0.4))
    runs.put(able(1, policy="ask", register="none", step=95, step_seconds=0.6))
    found = runs.run(RUN)
    assert found is not None
    assert (found.policy, found.register, found.step, found.step_seconds) == ("ask", "none", 95, 0.6)


def test_a_reported_change_counts_before_the_next_declaration() -> None:
    """A value that a rank has changed is known at once."""
    runs = AbleRuns()
    runs.put(able(0, 1, micro_batch(16)))
    runs.set_value(RUN, 0, "micro_batch", 8)
    assert (found := runs.run(RUN)) is not None
    assert found.of("micro_batch")[0].value == 8
    assert found.with_lever("micro_batch") == ("micro_batch",)
