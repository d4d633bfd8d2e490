"""The clock offset: its error is within the round trip, whatever clocks and networks do."""

import random

import pytest

from flyball_collector.ingest.clock_offset import ClockOffset

MS = 1_000_000
SECOND = 1000 * MS
BOOTED = 1_900_000_000 * SECOND


def exchange(clock: ClockOffset, true_offset: int, boot: int, there: int, back: int) -> None:
    """Simulate a round trip: the agent receives at `boot` and answers 300 ms later."""
    sent = boot + true_offset - there
    answered = boot + 300 * MS
    clock.round_trip(sent, boot, answered, answered + true_offset + back)


def test_unknown_before_the_first_message() -> None:
    """Without a message there is no offset."""
    assert ClockOffset().offset_ns is None


def test_one_way_messages_limit_the_offset_until_the_first_echo() -> None:
    """The fastest message so far gives the upper limit."""
    clock = ClockOffset()
    for delay in (50, 20, 90):
        clock.one_way(SECOND, SECOND + BOOTED + delay * MS)
    assert clock.offset_ns == BOOTED + 20 * MS


def test_jitter_is_filtered() -> None:
    """With delays up to 200 ms and one fast exchange the offset is right within 2 ms."""
    clock, noise = ClockOffset(), random.Random(1)
    for n in range(12):
        quick = n == 7
        there, back = (2 * MS, 1 * MS) if quick else (noise.randrange(200 * MS), noise.randrange(200 * MS))
        exchange(clock, BOOTED, n * 10 * SECOND, there, back)
    assert clock.offset_ns is not None
    assert abs(clock.offset_ns - BOOTED) <= 2 * MS


def test_drift_is_followed() -> None:
    """At 100 parts per million over three hours the offset stays within 10 ms."""
    clock = ClockOffset()
    for minute in range(180):
        boot = minute * 60 * SECOND
        true = BOOTED + boot // 10_000
        exchange(clock, true, boot, 3 * MS, 3 * MS)
        assert clock.offset_ns is not None
        assert abs(clock.offset_ns - true) < 10 * MS


@pytest.mark.parametrize("step", [3600 * SECOND, -3600 * SECOND])
def test_a_step_of_the_collectors_clock_restarts_the_filter(step: int) -> None:
    """The first exchange after a step of an hour is used."""
    clock = ClockOffset()
    for n in range(10):
        exchange(clock, BOOTED, n * 60 * SECOND, MS, MS)
    exchange(clock, BOOTED + step, 700 * SECOND, MS, MS)
    assert clock.offset_ns is not None
    assert abs(clock.offset_ns - BOOTED - step) < 2 * MS


def test_a_backward_step_shows_at_the_next_message() -> None:
    """A message that arrives before it was sent contradicts the offset; the one-way limit replaces it."""
    clock = ClockOffset()
    exchange(clock, BOOTED, 60 * SECOND, MS, MS)
    clock.one_way(61 * SECOND, 61 * SECOND + BOOTED - 3600 * SECOND + MS)
    assert clock.offset_ns == BOOTED - 3600 * SECOND + MS


def test_a_frozen_host_is_followed() -> None:
    """A host whose boot clock stopped for ten minutes has a new offset at the next exchange."""
    clock = ClockOffset()
    exchange(clock, BOOTED, 60 * SECOND, MS, MS)
    exchange(clock, BOOTED + 600 * SECOND, 61 * SECOND, MS, MS)
    assert clock.offset_ns is not None
    assert abs(clock.offset_ns - BOOTED - 600 * SECOND) < 2 * MS


def test_invalid_and_repeated_answers_are_ignored() -> None:
    """An answer before its question and a repeated answer change nothing."""
    clock = ClockOffset()
    exchange(clock, BOOTED, 60 * SECOND, MS, MS)
    before = clock.offset_ns
    clock.round_trip(BOOTED, 70 * SECOND, 60 * SECOND, BOOTED + SECOND)
    clock.round_trip(BOOTED + 90 * SECOND, 90 * SECOND, 95 * SECOND, BOOTED + 91 * SECOND)
    exchange(clock, BOOTED, 60 * SECOND, MS, 900 * MS)
    assert clock.offset_ns == before
