"""The four base scores, by their formulas."""

import numpy as np

from flyball_collector.diagnosis.scores.score_table import ScoreTable, table_of
from flyball_collector.diagnosis.scores.settings import ScoreSettings
from flyball_collector.engine.player import Key, Player, Sample, recording
from flyball_collector.engine.settings import DiagnosisSettings

MB = 1e6
DISK: tuple[tuple[str, str], ...] = (("device", "sda"),)
WRITTEN, BUSY, WRITES = "disk_written_bytes_total", "disk_busy_seconds_total", "disk_writes_total"
LINK: tuple[tuple[str, str], ...] = (("interface", "eth0"),)
RECEIVED, SENT, SPEED = "network_received_bytes_total", "network_sent_bytes_total", "network_speed_bytes_per_second"


def table(*seconds: dict[Key, float], settings: ScoreSettings | None = None) -> ScoreTable:
    """The scores of the last of these seconds; counters are given as they count."""
    player = Player(
        recording([Sample(n, "a", told) for n, told in enumerate(seconds)], (WRITTEN, BUSY, WRITES, RECEIVED, SENT)),
        DiagnosisSettings(scores=settings or ScoreSettings()),
    )
    for _ in player.play():
        pass
    found = table_of(player.diagnosis)
    assert found is not None
    return found


def disk(*seconds: tuple[float, float, float]) -> list[dict[Key, float]]:
    """A disk that writes so many megabytes in so many writes, busy for a share, second by second."""
    sums = np.cumsum([(0.0, 0.0, 0.0), *seconds], axis=0)
    return [
        {(WRITTEN, DISK): 1e9 + MB * written, (WRITES, DISK): 1e6 + writes, (BUSY, DISK): 100 + busy}
        for written, writes, busy in sums
    ]


def test_each_is_a_share_of_its_limit_and_at_most_one() -> None:
    """CPU of 80 %, memory of 75 %, writes of 50 MB/s, round trips of 100 ms."""
    own: dict[Key, float] = {("cpu_busy_ratio", ()): 0.4, ("memory_used_ratio", ()): 0.9}
    own[("latency_seconds", (("target", "db:27017"),))] = 0.025
    own[("latency_seconds", (("target", "localhost"),))] = 0.09
    found = table(*[{**own, **told} for told in disk((10, 100, 0.2))])
    assert [round(float(found.base[name][0]), 3) for name in ("cpu", "memory", "disk", "network")] == [
        0.5,
        1,
        0.2,
        0.25,
    ]
    assert found.base_primary(0) == ("memory", 1.0)


def test_the_limits_are_settings() -> None:
    """Half the limit, twice the score."""
    own: dict[Key, float] = {("cpu_busy_ratio", ()): 0.2, ("memory_used_ratio", ()): 0.1}
    settings = ScoreSettings(base_cpu_busy=0.4, base_memory_used=0.2)
    found = table(own, settings=settings)
    np.testing.assert_allclose([found.base["cpu"][0], found.base["memory"][0]], [0.5, 0.5])


def test_what_a_disk_was_seen_to_write_at_its_limit_replaces_the_constant() -> None:
    """A fast disk is not at its limit at 50 MB/s; a slow one is at 20."""
    fast = disk((1000, 2000, 1.0), (100, 200, 0.1))
    np.testing.assert_allclose(table(*fast).base["disk"], [0.1], rtol=1e-3)
    slow = disk((20, 50, 1.0), (20, 50, 1.0))
    np.testing.assert_allclose(table(*slow).base["disk"], [1.0], rtol=1e-3)


def test_many_small_writes_say_nothing_of_a_disks_rate() -> None:
    """Busy with 4 KiB at a time it is at the limit of its operations."""
    np.testing.assert_allclose(table(*disk((5, 1250, 1.0), (5, 1250, 1.0))).base["disk"], [0.1], rtol=1e-3)


def test_where_no_round_trip_is_measured_a_links_use_stands_for_the_network() -> None:
    """Of the speed that it negotiated."""
    told: list[dict[Key, float]] = [
        {(RECEIVED, LINK): 1e6 * n, (SENT, LINK): 0.0, (SPEED, LINK): 4e6} for n in range(2)
    ]
    np.testing.assert_allclose(table(*told).base["network"], [0.25], rtol=1e-3)


def test_what_is_unknown_has_no_score() -> None:
    """And no primary."""
    found = table({("load_average", (("window", "1m"),)): 1.0})
    assert all(np.isnan(values).all() for values in found.base.values())
    assert found.base_primary(0) == ("", 0.0)
