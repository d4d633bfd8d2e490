"""The times of a step's parts on a GPU are read later, and nothing is touched without one."""

import pytest

from flyball.training.device_times import WHOLE_STEP, DeviceTimes, section_times
from tests.client.training.standin_cuda import StandinCuda


def sampled(cuda: StandinCuda, *parts: tuple[str, float]) -> DeviceTimes:
    """Return what has sampled a step of these parts, each with its milliseconds on the device."""
    times = DeviceTimes()
    times.begin()
    _play(times, cuda, parts)
    return times


def _play(times: DeviceTimes, cuda: StandinCuda, parts: tuple[tuple[str, float], ...]) -> None:
    for name, milliseconds in parts:
        cuda.now += milliseconds
        times.mark(name)
    cuda.now += 1.0  # what belongs to no part
    times.end()


def test_without_cuda_nothing_is_recorded() -> None:
    """A training on the CPU pays for one look at an attribute."""
    times = DeviceTimes()
    times.begin()
    assert not times.recording
    times.mark("forward")
    times.end()
    assert times.take() is None


def test_the_parts_of_a_step_have_their_seconds(cuda: StandinCuda) -> None:
    """Parts with one name add up; the whole step has all of them and the rest."""
    times = sampled(cuda, ("forward", 3.0), ("backward", 6.0), ("forward", 2.0), (WHOLE_STEP, 4.0))
    cuda.finish()
    assert times.take() == pytest.approx({WHOLE_STEP: 0.016, "forward": 0.005, "backward": 0.006})


def test_a_step_is_read_only_when_the_device_has_done_it(cuda: StandinCuda) -> None:
    """Until then there is nothing, and no second sample begins, because the events are in use."""
    times = sampled(cuda, ("forward", 3.0))
    assert times.take() is None
    times.begin()
    assert not times.recording
    cuda.finish()
    assert times.take() is not None
    assert times.take() is None


def test_events_are_used_again(cuda: StandinCuda) -> None:
    """Creating one costs more than recording it."""
    times = DeviceTimes()
    for _ in range(5):
        times.begin()
        _play(times, cuda, (("forward", 3.0), ("backward", 6.0)))
        cuda.finish()
        assert times.take() == pytest.approx({WHOLE_STEP: 0.010, "forward": 0.003, "backward": 0.006})
    assert cuda.events == 4


def test_nothing_is_recorded_while_a_graph_is_captured(cuda: StandinCuda) -> None:
    """The event would become a part of the graph; the sample is given up, and the next one is whole."""
    times = DeviceTimes()
    cuda.capturing = True
    times.begin()
    assert not times.recording
    cuda.capturing = False
    times.begin()
    cuda.capturing = True
    times.mark("forward")
    assert not times.recording
    assert times.take() is None
    assert cuda.calls_while_capturing == 0
    cuda.capturing = False
    times.begin()
    _play(times, cuda, (("forward", 3.0),))
    cuda.finish()
    assert times.take() == pytest.approx({WHOLE_STEP: 0.004, "forward": 0.003})


def test_a_step_with_very_many_parts_is_given_up(cuda: StandinCuda) -> None:
    """Memory and time for events are limited."""
    times = sampled(cuda, *[("part", 1.0)] * 300)
    cuda.finish()
    assert times.take() is None
    assert cuda.events <= 258


def test_errors_of_the_device_stay_here_and_end_the_sampling(cuda: StandinCuda) -> None:
    """After some failures, the client asks no longer."""
    times = DeviceTimes()
    times.begin()
    cuda.failing = True
    times.mark("forward")
    assert not times.recording
    for _ in range(5):
        times.begin()
    cuda.failing = False
    times.begin()
    assert not times.recording
    assert cuda.events == 4


def test_a_stream_that_was_ahead_gives_no_times(cuda: StandinCuda) -> None:
    """A negative time would be wrong in any sum."""
    times = sampled(cuda, ("forward", 3.0), ("backward", -2.0))
    cuda.finish()
    assert times.take() is None


def test_a_forked_process_records_nothing(cuda: StandinCuda) -> None:
    """CUDA does not survive a fork."""
    times = DeviceTimes()
    times.begin()
    cuda.initialised = False
    times.mark("forward")
    assert not times.recording
    assert times.take() is None


def test_sections_get_the_time_of_the_device() -> None:
    """The host saw only how long it took to start the work."""
    host = {"forward": 10_000_000, "backward": 10_000_000}
    device = {WHOLE_STEP: 0.010, "forward": 0.003, "backward": 0.006}
    assert section_times(host, 1_000_000_000, 100, device) == {"forward": 300_000_000, "backward": 600_000_000}


def test_sections_outside_of_the_sampled_step_keep_the_time_of_the_host() -> None:
    """A checkpoint is rare, and its time is the host's."""
    host = {"forward": 10_000_000, "checkpoint": 400_000_000}
    found = section_times(host, 1_000_000_000, 100, {WHOLE_STEP: 0.008, "forward": 0.003})
    assert found == {"forward": 300_000_000, "checkpoint": 400_000_000}


def test_sections_never_exceed_the_steps() -> None:
    """The sampled step may have been slower than the others."""
    found = section_times({"forward": 1, "save": 200}, 1000, 100, {WHOLE_STEP: 2e-8, "forward": 2e-8})
    assert found == {"forward": 800, "save": 200}


def test_without_a_useful_sample_the_host_is_believed() -> None:
    """No time at all, or no common names."""
    host = {"forward": 5, "save": 7}
    assert section_times(host, 100, 1, {WHOLE_STEP: 0.1}) == host
    assert section_times(host, 100, 1, {WHOLE_STEP: 0.0, "forward": 0.0}) == host
    assert section_times(host, 7, 1, {WHOLE_STEP: 0.1, "forward": 0.1}) == host


def test_a_step_with_sections_inside_of_sections_is_not_sampled(cuda: StandinCuda) -> None:
    """The outer one would lose what the inner one took, and more."""
    times = DeviceTimes()
    times.begin()
    times.enter(0)
    times.enter(1)
    assert not times.recording
    cuda.finish()
    assert times.take() is None
