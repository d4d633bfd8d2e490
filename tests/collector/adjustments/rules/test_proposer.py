"""From findings to proposals."""

from flyball_collector.adjustments.adjustment import AdjustmentState
from flyball_collector.adjustments.rules.proposer import GAP_SECONDS, Proposer
from tests.collector.adjustments.rules.runs import NOW, SECOND, adjustment, event, host, ranks, situation, value

WAITS = {"gpus": 0, "gpu_busy_share": None, "service_share": 0.9, "calls_per_sample": 100.0, "call_seconds": 0.01}
SMALL = event("bottleneck_small_batch")


def at(seconds: float) -> int:
    """Return a time after the usual one."""
    return NOW + int(seconds * SECOND)


def test_a_finding_must_last() -> None:
    """A larger micro-batch is proposed when its reason has lasted for a minute, not before."""
    proposer, run = Proposer(), ranks([value("micro_batch")])
    made = [proposer.propose(situation(SMALL, now_ns=at(s), peak_bytes=30e9), run, []) for s in range(0, 70, 5)]
    assert [one is not None for one in made] == [s >= 60 for s in range(0, 70, 5)]
    assert made[-1] is not None
    assert (made[-1].name, made[-1].value_from, made[-1].to, made[-1].rule) == (
        "micro_batch",
        16,
        32,
        "grow_micro_batch",
    )


def test_a_break_begins_the_time_again() -> None:
    """A reason that was away for a moment, or an evaluation that was away for long, starts from zero."""
    run = ranks([value("micro_batch")])

    def proposed(quiet_at: float) -> bool:
        proposer, last = Proposer(), None
        for second in range(0, 65, 5):
            events = () if second == quiet_at else (SMALL,)
            last = proposer.propose(situation(*events, now_ns=at(second), peak_bytes=30e9), run, [])
        return last is not None

    assert proposed(quiet_at=-1)
    assert not proposed(quiet_at=30)
    proposer = Proposer()
    proposer.propose(situation(SMALL, now_ns=at(0), peak_bytes=30e9), run, [])
    late = situation(SMALL, now_ns=at(2 * GAP_SECONDS + 60), peak_bytes=30e9)
    assert proposer.propose(late, run, []) is None


def test_another_value_begins_the_time_again() -> None:
    """If what a rule proposes changes, the new value must last."""
    proposer = Proposer()
    for second in range(0, 60, 5):
        proposer.propose(situation(SMALL, now_ns=at(second), peak_bytes=20e9), ranks([value("micro_batch")]), [])
    run = ranks([value("micro_batch", 8)])
    assert proposer.propose(situation(SMALL, now_ns=at(60), peak_bytes=20e9), run, []) is None


def test_less_patience_shortens_the_time() -> None:
    """A tenth of the patience needs a tenth of the time."""
    proposer, run = Proposer(patience=0.1), ranks([value("micro_batch")])
    made = [proposer.propose(situation(SMALL, now_ns=at(s), peak_bytes=30e9), run, []) for s in (0, 5, 6)]
    assert [one is not None for one in made] == [False, False, True]


def test_protection_comes_first_and_then_the_largest_gain() -> None:
    """Heat is answered before slow calls, and of three levers the one with the largest expected gain is first."""
    proposer = Proposer(patience=0.0)
    run = ranks([value("workers"), value("pool"), value("calls_per_batch"), value("throttle")])
    hot = situation(**(WAITS | {"temperature_margin_celsius": 2.0}))
    made = proposer.proposals(hot, run, [])
    assert [one.lever for one in made] == ["throttle", "calls_per_batch", "workers", "pool"]
    assert [one.protects for one in made] == [True, False, False, False]


def test_a_refused_change_has_its_reason() -> None:
    """A change that the dry run forbids is listed with its reason, and other changes are still proposed."""
    proposer = Proposer(patience=0.0)
    run = ranks([value("micro_batch"), value("throttle")])
    found = situation(SMALL, temperature_margin_celsius=2.0)
    assert [one.lever for one in proposer.proposals(found, run, [])] == ["throttle"]
    [refused] = proposer.refusals("r")
    assert (refused.name, refused.to) == ("micro_batch", 32)
    assert "GB" in refused.reason
    assert proposer.proposals(found, run, [], disabled=["throttle"]) == ()
    assert {one.reason for one in proposer.refusals("r") if one.name == "throttle"} == {
        "the operator has disabled the lever throttle"
    }
    proposer.forget("r")
    assert proposer.refusals("r") == ()


def test_a_value_that_cannot_be_changed_is_not_proposed() -> None:
    """A blocked value, and one that a rank does not declare, are left alone."""
    hot, proposer = situation(temperature_margin_celsius=2.0), Proposer(patience=0.0)
    assert proposer.propose(hot, ranks([value("throttle", blocked="busy")]), []) is None
    assert proposer.propose(hot, ranks([value("throttle")], []), []) is None
    assert proposer.propose(hot, ranks([value("throttle")], [value("throttle")]), []) is not None


def test_noise_changes_nothing() -> None:
    """A cool, busy, quiet run with all levers gets no proposal."""
    run = ranks([value(lever) for lever in ("micro_batch", "loader_workers", "throttle", "pause", "checkpoint_now")])
    assert Proposer(patience=0.0).proposals(situation(), run, []) == ()


def test_checkpoints_are_adapted_although_they_cost_speed() -> None:
    """A fragile run gets more frequent checkpoints: they protect its work, and need no gain."""
    fragile = situation(checkpoint_seconds=5.0, failures=5, hours=10.0)
    made = Proposer(patience=0.0).propose(fragile, ranks([value("checkpoint_steps", 5000)]), [])
    assert made is not None
    assert (made.to, made.protects) == (1000, True)


def test_a_small_expected_gain_is_not_worth_a_change() -> None:
    """With an upper bound below 5 %, nothing is proposed for speed."""
    run = ranks([value("pool")])
    for waits, worth in ((0.3, True), (0.06, False)):
        found = situation(**(WAITS | {"service_share": 0.5}), hosts=(host(pool_wait_share=waits),))
        assert bool(Proposer(patience=0.0).proposals(found, run, [])) is worth


def test_a_change_that_was_taken_back_gives_way_to_another() -> None:
    """After a roll-back of the best lever, the next one is proposed."""
    run = ranks([value("workers"), value("calls_per_batch")])
    back = adjustment("calls_per_batch", 1, 50, ago=600, state=AdjustmentState.ROLLED_BACK)
    made = Proposer(patience=0.0).proposals(situation(**WAITS), run, [back])
    assert [one.lever for one in made] == ["workers"]


def test_a_proposal_carries_what_people_and_the_governor_need() -> None:
    """It names its evidence, its class, the expected gain and the predicted figures."""
    forecast = event("memory_exhaustion", seconds_left=120.0)
    made = Proposer(patience=0.0).propose(situation(forecast), ranks([value("micro_batch", safety=3)]), [])
    assert made is not None
    assert (made.protects, made.safety, made.conditions) == (True, 3, (forecast.condition,))
    assert made.expected_low is not None
    assert made.expected_low < 1.0
    assert made.predicted["peak_bytes_high"] <= 40 * 1024**3
    assert made.predicted["step_seconds_high"] > 0.5
