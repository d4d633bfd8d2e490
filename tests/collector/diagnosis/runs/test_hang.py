"""Runs that no longer complete steps, and runs that have not completed their first."""

from collections.abc import Mapping

from flyball_collector.engine.player import EPOCH, Key
from flyball_collector.engine.testing.runs import brief, gpu_key, host, play, step
from flyball_proto.v1 import telemetry_pb2 as pb

SECOND = 10**9


def held(ranks: int = 2) -> dict[str, pb.Tenancy]:
    """Return processes that belong to the run and hold one GPU each."""
    member = [
        pb.Member(pid=1, run="r", rank=rank, user="ann", source="client", gpus=["G"], started_ns=EPOCH * SECOND)
        for rank in range(ranks)
    ]
    return {host(rank): pb.Tenancy(members=[member[rank]]) for rank in range(ranks)}


def gpu(busy: float, tensors: float) -> Mapping[Key, float]:
    return {gpu_key("gpu_utilization_ratio", "G"): busy, gpu_key("gpu_tensor_active_ratio", "G"): tensors}


def stalls(rank: int, second: int) -> pb.StepReport | None:
    return step(rank, second, 0.5) if second < 60 or second >= 400 else None


def test_a_run_without_steps_hangs_until_it_continues() -> None:
    """Its processes exist; busy GPUs without tensor work make it almost certain."""
    played, _ = play(
        2,
        range(520),
        stalls,
        readings=lambda _, second: gpu(1.0, 0.4 if second < 60 or second >= 400 else 0.0),
        tenancies=held(),
    )
    events = brief(played, "run_hang")
    assert [state for _, _, state, _ in events] == ["raised", "cleared"]
    assert 60 + 120 <= events[0][0] <= 60 + 130
    assert 400 <= events[1][0] <= 470
    event = next(event for event in played if event.kind.name == "run_hang")
    assert event.subject.run == "r"
    assert event.confidence >= 0.9
    assert "a collective waits" in event.because


def test_a_long_interval_that_was_seen_before_is_not_a_hang() -> None:
    """A run that took a minute to save before may do so again, and take up to five times as long."""

    def saves(rank: int, second: int) -> pb.StepReport | None:
        return None if 60 <= second < 120 or 200 <= second < 400 else step(rank, second, 0.5)

    played, _ = play(2, range(420), saves, tenancies=held())
    assert brief(played, "run_hang") == []


def test_a_run_that_ended_does_not_hang() -> None:
    """Its processes are gone, or were never known."""
    played, player = play(2, range(500), lambda rank, second: step(rank, second, 0.5) if second < 60 else None)
    assert brief(played, "run_hang") == []
    assert len(player.fleet.ranks) == 0


def test_a_run_without_a_step_is_a_slow_start() -> None:
    """It is raised twenty minutes after its processes started; the first step clears it."""
    played, _ = play(
        2,
        range(0, 1500, 5),
        lambda rank, second: step(rank, second, 0.5) if second >= 1400 else None,
        readings=lambda *_: gpu(0.0, 0.0),
        tenancies=held(),
    )
    events = brief(played, "slow_start")
    assert [state for _, _, state, _ in events] == ["raised", "cleared"]
    assert 1200 <= events[0][0] <= 1210


def test_the_pause_of_a_restart_does_not_delay_the_next_hang() -> None:
    """A run that took 100 s to restart may not be quiet for five times as long. Without attempts it may."""

    def hangs_after(attempts: bool) -> float:
        def restarts(rank: int, second: int) -> pb.StepReport | None:
            quiet = 60 <= second < 160 or second >= 220
            return None if quiet else step(rank, second, 0.5, attempt=int(attempts and second >= 160))

        played, _ = play(2, range(220 + 600), restarts, tenancies=held())
        return next((at for at, _, state, _ in brief(played, "run_hang") if state == "raised"), 0.0) - 220

    assert 120 <= hangs_after(attempts=True) <= 130
    assert not 120 <= hangs_after(attempts=False) <= 130
