"""The steps of a run: recent and overall figures of its ranks, and of all of them together."""

import time

import pytest

from flyball_collector.fleet.host import HostState
from flyball_collector.fleet.ranks import FINE_RANKS, Ranks
from flyball_collector.fleet.run_steps import RankSteps, RunSteps, StepFigures, run_steps
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.collector.fleet.step_reports import SECOND, START, add_reports, report


def of_run(ranks: Ranks, second: int, run: str = "r") -> RunSteps:
    found = run_steps(run, ranks.of_run(run, (START + second) * SECOND))
    assert found is not None
    return found


def only(ranks: Ranks, second: int) -> RankSteps:
    (rank,) = of_run(ranks, second).ranks
    return rank


def call(service: str, count: int, seconds: float | None = None, errors: int = 0) -> pb.CallReport:
    return pb.CallReport(service=service, count=count, seconds=seconds, errors=errors)


def test_a_run_without_step_reports_has_no_steps() -> None:
    """It is None, not a run with zero steps."""
    ranks = Ranks()
    add_reports(ranks, 0, report(0, run="another"))
    assert run_steps("r", ranks.of_run("r", START * SECOND)) is None


def test_recent_figures_follow_a_change_and_overall_ones_keep_the_whole_run() -> None:
    """After a hundred fast seconds come a hundred slow ones with other sections."""
    ranks = Ranks()
    for second in range(200):
        slow = second >= 100
        fields: dict[str, object] = {"step_seconds": 0.9, "tokens": 50.0} if slow else {"steps": 2, "tokens": 200.0}
        sections = {"forward": 0.3, "save": 0.1} if slow else {"forward": 0.2}
        fields |= {"section_seconds": sections, "data_wait_seconds": 0.1 if slow else 0.05}
        add_reports(ranks, second, report(0, **fields))
    rank = only(ranks, 200)
    assert rank.recent.step_seconds == pytest.approx(0.9)
    assert rank.recent.steps_per_second == pytest.approx(1.0)
    assert rank.recent.tokens_per_second == pytest.approx(50.0)
    assert rank.recent.data_wait_share == pytest.approx(1 / 9)
    assert rank.recent.section_seconds == pytest.approx({"forward": 0.3, "save": 0.1})
    assert 30 <= rank.recent.steps <= 60
    assert (rank.overall.steps, rank.overall.tokens) == (300, 25_000)
    assert rank.overall.steps_per_second == pytest.approx(1.5, rel=0.01)
    assert rank.overall.step_seconds == pytest.approx(140 / 300)
    assert rank.overall.section_seconds == pytest.approx({"forward": 50 / 300, "save": 10 / 300})
    assert rank.overall.data_wait_share == pytest.approx(15 / 140)


def test_pauses_between_steps_count_in_rates_but_not_in_steps() -> None:
    """Ten steps of half a second in a minute are a sixth of a step a second."""
    ranks = Ranks()
    for second in range(0, 60, 6):
        add_reports(ranks, second, report())
    overall = only(ranks, 60).overall
    assert overall.step_seconds == 0.5
    assert overall.steps_per_second == pytest.approx(10 / 54.5)


def test_a_single_report_has_a_rate() -> None:
    """Its steps began before it was made."""
    ranks = Ranks()
    add_reports(ranks, 0, report(steps=4, step_seconds=2.0, samples=8.0))
    rank = only(ranks, 1)
    assert rank.recent == rank.overall
    assert (rank.overall.steps_per_second, rank.overall.samples_per_second) == (2.0, 4.0)


def test_unknown_values_stay_unknown() -> None:
    """A rank that reports only steps has no tokens, loss, peaks, calls or sections."""
    ranks = Ranks()
    add_reports(ranks, 0, report())
    rank = only(ranks, 1)
    assert (rank.loss, rank.allocated_peak_bytes, rank.reserved_peak_bytes) == (None, None, None)
    assert rank.overall == StepFigures(steps=1, step_seconds=0.5, steps_per_second=2.0)


def test_a_rank_that_stopped_has_no_recent_figures() -> None:
    """A minute after its last report, or three steps if they are longer."""
    ranks = Ranks()
    add_reports(ranks, 0, report(0), report(1, step_seconds=100.0))
    short, long = of_run(ranks, 60).ranks
    assert short.recent.steps == long.recent.steps == 1
    short, long = of_run(ranks, 61).ranks
    assert (short.recent, short.overall.steps, long.recent.steps) == (StepFigures(), 1, 1)
    assert of_run(ranks, 301).ranks[1].recent == StepFigures()


def test_steps_longer_than_a_minute_have_recent_figures() -> None:
    """They are those of the last reports."""
    ranks = Ranks()
    for second in range(1000):
        reports = [report(step_seconds=100.0 if second < 500 else 200.0)] if second % 100 == 0 else []
        add_reports(ranks, second, *reports)
    assert only(ranks, 1000).recent.step_seconds == 200.0


def test_calls_levels_and_time_on_the_device_are_summed() -> None:
    """By service and level; the share of the device covers only the steps for which it was measured."""
    ranks = Ranks()
    level = pb.LevelReport(level="node0", items=5.0, seconds=0.2)
    for second in range(10):
        calls = [call("kato", 3, 0.3, 1), call("cache", 10)]
        timed: dict[str, object] = {"device_seconds": 0.25} if second >= 5 else {}
        add_reports(ranks, second, report(0, calls=calls, levels=[level], dropped=2, **timed))
    rank = only(ranks, 10)
    kato, cache = rank.overall.calls["kato"], rank.overall.calls["cache"]
    assert (kato.count, kato.errors, cache.count) == (30, 10, 100)
    assert kato.seconds_per_call == pytest.approx(0.1)
    assert cache.seconds_per_call is None
    assert rank.overall.levels["node0"].items == 50
    assert rank.overall.levels["node0"].items_per_second == pytest.approx(50 / 9.5)
    assert rank.overall.device_share == pytest.approx(0.5)
    assert rank.dropped == 20
    totals = ranks.totals((START + 10) * SECOND, "a")["a"][0]
    assert [(each.service, each.calls, each.errors) for each in totals.calls] == [("kato", 30, 10), ("cache", 100, 0)]
    assert totals.device_seconds == pytest.approx(1.25)


def test_what_adjustments_cost_is_known_where_it_was_reported() -> None:
    """Retries are summed over the ranks, and paused and throttled seconds are their means."""
    ranks = Ranks()
    for second in range(10):
        fields: dict[str, object] = {"oom_retries": 1, "paused_seconds": 0.5} if second == 5 else {}
        add_reports(ranks, second, report(0, **fields), report(1, paused_seconds=0.1, throttled_seconds=0.2))
    found = of_run(ranks, 10)
    first, other = (rank.overall for rank in found.ranks)
    assert (first.oom_retries, first.paused_seconds, first.throttled_seconds) == (1, 0.5, None)
    assert other.oom_retries is None
    assert [other.paused_seconds, other.throttled_seconds] == pytest.approx([1.0, 2.0])
    assert (found.overall.oom_retries, found.recent.oom_retries) == (1, 1)
    assert [found.overall.paused_seconds, found.overall.throttled_seconds] == pytest.approx([0.75, 2.0])


def test_wrong_amounts_of_adjustments_are_left_out() -> None:
    """Infinite, negative and unknown seconds add nothing."""
    ranks = Ranks()
    for amount in (float("inf"), float("nan"), -1.0):
        add_reports(ranks, 0, report(paused_seconds=amount))
    add_reports(ranks, 1, report(paused_seconds=2.0))
    assert only(ranks, 2).overall.paused_seconds == 2.0


def test_a_run_adds_its_ranks() -> None:
    """Amounts and calls are sums, durations those of the median rank, and shares and sections means."""
    ranks = Ranks()
    for second in range(5):
        add_reports(
            ranks,
            second,
            *(
                report(
                    rank,
                    step_seconds=0.1 * (rank + 1),
                    tokens=100.0,
                    data_wait_seconds=0.01 * rank * (rank + 1),
                    section_seconds={"forward": 0.1 * rank} if rank else {},
                    calls=[call("kato", 2, 0.1)],
                    levels=[pb.LevelReport(level="node0", items=1.0, seconds=0.1)],
                )
                for rank in range(3)
            ),
        )
    run = of_run(ranks, 5)
    assert run.recent.step_seconds == pytest.approx(0.2)
    assert run.overall.tokens == 1500
    assert run.recent.data_wait_share == pytest.approx(0.1)
    assert run.recent.section_seconds == pytest.approx({"forward": 0.15})
    assert (run.overall.calls["kato"].count, run.overall.levels["node0"].items) == (30, 15)
    rates = [rank.recent.tokens_per_second for rank in run.ranks]
    assert run.recent.tokens_per_second == pytest.approx(sum(rate for rate in rates if rate is not None))


def test_a_lost_loss_is_unknown_and_counted() -> None:
    """A NaN is a finding, not a value to show."""
    ranks = Ranks()
    add_reports(ranks, 0, report(loss=float("nan")))
    rank = only(ranks, 1)
    assert (rank.loss, rank.bad_losses) == (None, 1)


def test_a_rank_that_moved_to_another_host_is_counted_once() -> None:
    """The newest report decides; the old row is removed before five minutes have passed, although its host lives."""
    ranks = Ranks()
    state = {"a": HostState("a", tenancy=pb.Tenancy(members=[pb.Member(pid=1, run="r", rank=1)]))}
    add_reports(ranks, 0, report(0, step=90), report(1, step=90))
    for second in range(20, 45):
        add_reports(ranks, second, report(0, step=60 + second, attempt=1), host="b")
    run = of_run(ranks, 45)
    assert [(rank.rank, rank.host, rank.step, rank.attempt) for rank in run.ranks] == [(0, "b", 104, 1)]
    assert run.attempt == 1
    ranks.advance((START + 45) * SECOND, state)
    assert [(key.rank, key.host) for key in ranks.keys] == [(0, "b"), (1, "a")]


def test_two_jobs_with_one_name_keep_their_ranks() -> None:
    """A rank that reports from two hosts has not moved."""
    ranks = Ranks()
    for second in range(60):
        add_reports(ranks, second, report(0), host="a")
        add_reports(ranks, second, report(0), host="b")
    found = ranks.of_run("r", (START + 60) * SECOND)
    assert [(rank.host, rank.overall.steps) for rank in found] == [("a", 60), ("b", 60)]


def test_a_later_job_with_the_name_of_a_run_is_the_newest_attempt() -> None:
    """It begins with attempt 0 again and has fewer ranks."""
    ranks = Ranks()
    add_reports(ranks, 0, *(report(rank, attempt=3) for rank in range(4)))
    add_reports(ranks, 100, report(0), report(1))
    run = of_run(ranks, 101)
    assert ([rank.rank for rank in run.ranks], run.attempt) == ([0, 1], 0)


def test_runs_whose_names_begin_alike_are_separate() -> None:
    """Only ranks of exactly this run are read."""
    ranks = Ranks()
    for run in ("r", "r0", "r/", "", "s"):
        add_reports(ranks, 0, report(0, run=run), report(2**31 - 1, run=run))
    for run in ("r", "r0", "r/", "", "s"):
        assert [rank.rank for rank in of_run(ranks, 1, run).ranks] == [0, 2**31 - 1]


def test_a_restart_is_not_a_gap_between_steps() -> None:
    """The longest gap, from which a hang is judged, has only the pauses of one attempt."""
    ranks = Ranks()
    for second in (0, 1, 2, 600, 601, 620):
        add_reports(ranks, second, report(attempt=second // 600))
    (longest,) = ranks.column("longest_gap")
    assert longest == pytest.approx(19, abs=0.1)
    assert ranks.column("attempt").tolist() == [1]


def test_a_sender_of_endless_names_is_limited() -> None:
    """Names of one rank are limited and counted; its other values and other ranks go on."""
    ranks = Ranks()
    for second in range(20):
        names = {f"section {second}-{n}": 0.01 for n in range(32)}
        calls = [call(f"service {second}-{n}", 1) for n in range(32)]
        add_reports(ranks, second, report(0, section_seconds=names, calls=calls), report(1, calls=[call("kato", 1)]))
    hostile, calm = of_run(ranks, 20).ranks
    assert (len(hostile.overall.section_seconds), len(hostile.overall.calls)) == (64, 32)
    assert hostile.dropped == 18 * 32 + 19 * 32
    assert hostile.overall.steps == 20
    assert calm.overall.calls["kato"].count == 20


@pytest.mark.parametrize("amount", [-1.0, float("inf"), float("nan")])
def test_amounts_that_no_client_can_send_change_nothing(amount: float) -> None:
    """An agent that is not ours could send them."""
    ranks = Ranks()
    wrong: dict[str, object] = {"calls": [call("kato", 1, amount)], "device_seconds": amount}
    wrong["section_seconds"] = {"forward": amount}
    add_reports(ranks, 0, report(), report(0, **wrong), report(calls=[call("kato", 1, 0.5)], device_seconds=0.25))
    overall = only(ranks, 1).overall
    assert overall.calls["kato"].seconds == 0.5
    assert overall.device_share == pytest.approx(0.5, abs=1e-6)
    assert overall.section_seconds == {}


def test_in_a_large_fleet_names_are_sampled_and_calls_are_complete() -> None:
    """Sections are seconds per step of the seconds that are read; each call counts once the rank has reported one."""
    ranks = Ranks()
    hosts = FINE_RANKS // 64 + 1
    calls = [call("kato", 1, 0.5)]
    for second in range(24):
        now = (START + second) * SECOND
        for host in range(hosts):
            rest = [report(64 * host + rank, section_seconds={"forward": 0.25}, calls=calls) for rank in range(64)]
            ranks.add_reports(f"h{host}", rest, now, now)
        ranks.advance(now, {})
    began = time.process_time()
    run = of_run(ranks, 24)
    assert time.process_time() - began < 5
    assert len(run.ranks) == 64 * hosts
    assert run.recent.section_seconds == {"forward": 0.25}
    counts = {rank.overall.calls["kato"].count for rank in run.ranks}
    assert min(counts) >= 16
    assert max(counts) <= 24
