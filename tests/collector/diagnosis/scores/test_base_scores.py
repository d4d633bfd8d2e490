"""The formulas of the four base scores."""

import numpy as np

from flyball_collector.diagnosis.scores.score_table import ScoreTable, table_of
from flyball_collector.diagnosis.scores.settings import ScoreSettings
from flyball_collector.engine.player import Key, Player, RecordedSample, recording
from flyball_collector.engine.settings import DiagnosisSettings

MB = 1e6
DISK: tuple[tuple[str, str], ...] = (("device", "sda"),)
WRITTEN, BUSY, WRITES = "disk_written_bytes_total", "disk_busy_seconds_total", "disk_writes_total"
LINK: tuple[tuple[str, str], ...] = (("interface", "eth0"),)
RECEIVED, SENT, SPEED = "network_received_bytes_total", "network_sent_bytes_total", "network_speed_bytes_per_second"


def table(*seconds: dict[Key, float], settings: ScoreSettings | None = None) -> ScoreTable:
    """Return the scores of the last of these seconds; counters have their counts."""
    player = Player(
        recording(
            [RecordedSample(n, "a", readings) for n, readings in enumerate(seconds)],
            (WRITTEN, BUSY, WRITES, RECEIVED, SENT),
        ),
        DiagnosisSettings(scores=settings or ScoreSettings()),
    )
    for _ in player.play():
        pass
    found = table_of(player.diagnosis)
    assert found is not None
    return found


def disk(*seconds: tuple[float, float, float]) -> list[dict[Key, float]]:
    """Return seconds of a disk: megabytes written, number of writes, busy share."""
    sums = np.cumsum([(0.0, 0.0, 0.0), *seconds], axis=0)
    return [
        {(WRITTEN, DISK): 1e9 + MB * written, (WRITES, DISK): 1e6 + writes, (BUSY, DISK): 100 + busy}
        for written, writes, busy in sums
    ]


def test_each_score_is_relative_to_its_limit_and_at_most_one() -> None:
    """The limits are 80 % CPU, 75 % memory, writes of 50 MB/s and round trips of 100 ms."""
    own: dict[Key, float] = {("cpu_busy_ratio", ()): 0.4, ("memory_used_ratio", ()): 0.9}
    own[("latency_seconds", (("target", "db:27017"),))] = 0.025
    own[("latency_seconds", (("target", "localhost"),))] = 0.09
    found = table(*[{**own, **readings} for readings in disk((10, 100, 0.2))])
    assert [round(float(found.base[name][0]), 3) for name in ("cpu", "memory", "disk", "network")] == [
        0.5,
        1,
        0.2,
        0.25,
    ]
    assert found.base_primary(0) == ("memory", 1.0)


def test_the_limits_are_settings() -> None:
    """Half the limit doubles the score."""
    own: dict[Key, float] = {("cpu_busy_ratio", ()): 0.2, ("memory_used_ratio", ()): 0.1}
    settings = ScoreSettings(base_cpu_busy=0.4, base_memory_used=0.2)
    found = table(own, settings=settings)
    np.testing.assert_allclose([found.base["cpu"][0], found.base["memory"][0]], [0.5, 0.5])


def test_the_fastest_rate_of_a_disk_replaces_the_constant() -> None:
    """A fast disk is not at its limit at 50 MB/s; a slow one is at 20 MB/s."""
    fast = disk((1000, 2000, 1.0), (100, 200, 0.1))
    np.testing.assert_allclose(table(*fast).base["disk"], [0.1], rtol=1e-3)
    slow = disk((20, 50, 1.0), (20, 50, 1.0))
    np.testing.assert_allclose(table(*slow).base["disk"], [1.0], rtol=1e-3)


def test_many_small_writes_do_not_show_the_rate_of_a_disk() -> None:
    """A disk that is busy with writes of 4 KiB is at the limit of its operations."""
    np.testing.assert_allclose(table(*disk((5, 1250, 1.0), (5, 1250, 1.0))).base["disk"], [0.1], rtol=1e-3)


def test_without_a_round_trip_the_links_utilisation_is_the_network_score() -> None:
    """It is relative to the negotiated speed."""
    seconds: list[dict[Key, float]] = [
        {(RECEIVED, LINK): 1e6 * n, (SENT, LINK): 0.0, (SPEED, LINK): 4e6} for n in range(2)
    ]
    np.testing.assert_allclose(table(*seconds).base["network"], [0.25], rtol=1e-3)


def test_unknown_readings_have_no_score() -> None:
    """There is also no primary."""
    found = table({("load_average", (("window", "1m"),)): 1.0})
    assert all(np.isnan(values).all() for values in found.base.values())
    assert found.base_primary(0) == ("", 0.0)
