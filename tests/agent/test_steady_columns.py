"""Tests of steady columns: resources that come and go quickly change few layouts."""

from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.probes.columns import GroupedColumns
from flyball_agent.probes.probe import ProbeSample
from flyball_agent.runner import Runner
from flyball_agent.steady_columns import HOLD_SECONDS, LONGEST_WAIT_SECONDS, NANOSECONDS, SteadyColumns
from flyball_proto.metric import Metric, counter
from flyball_proto.unavailable_reading import Reason

BYTES = counter("network_received_bytes_total", "bytes", "Bytes received.", ("interface",))


class Interfaces:
    """A probe with one column per interface; its value is the length of the interface's name."""

    name = "network"
    metrics: tuple[Metric, ...] = (BYTES,)
    every_seconds = 0.0
    blocking = False

    def __init__(self, *names: str) -> None:
        self.names = names
        self._columns = GroupedColumns(self.metrics)

    def read(self) -> ProbeSample:
        columns = self._columns.columns([(name,) for name in self.names])
        return ProbeSample(columns, [len(name) for name in self.names])


def fit_at(steady: SteadyColumns, second: float, *names: str) -> dict[str, object]:
    """Fit a sample of these interfaces; return the values by interface."""
    sample = steady.fit(Interfaces(*names).read(), int(second * NANOSECONDS))
    assert len(sample.columns) == len(sample.values)
    return dict(zip((column.labels[0] for column in sample.columns), sample.values, strict=True))


def test_a_device_that_disappears_keeps_its_column_for_a_minute() -> None:
    """The value of a resource that disappeared is unknown with a reason, and after a minute its column goes."""
    steady = SteadyColumns("network")
    fit_at(steady, 0, "eth0", "ib0")
    assert fit_at(steady, 1, "eth0") == {"eth0": 4, "ib0": None}
    sample = steady.fit(Interfaces("eth0").read(), 2 * NANOSECONDS)
    assert [(gap.metric, gap.resource, gap.reason) for gap in sample.unavailable] == [
        (BYTES.name, "ib0", Reason.ABSENT)
    ]
    assert fit_at(steady, 1 + HOLD_SECONDS, "eth0") == {"eth0": 4}


def test_an_interface_that_flaps_changes_no_layout() -> None:
    """With an interface that goes up and down every three seconds, the columns stay the same object for an hour."""
    probe = Interfaces("eth0", "ib0")
    runner = Runner([probe], 0.5)
    columns = runner.run(0)[0].columns
    for second in range(1, 3600):
        probe.names = ("eth0", "ib0") if second // 3 % 2 == 0 else ("eth0",)
        slot = runner.run(second * NANOSECONDS)[0]
        assert slot.columns is columns
        assert list(slot.values) == ([4, 3] if len(probe.names) == 2 else [4, None])


def test_a_new_device_is_shown_at_once() -> None:
    """The first device that is added appears with its next reading."""
    steady = SteadyColumns("network")
    fit_at(steady, 0, "eth0")
    assert fit_at(steady, 1, "eth0", "ib0") == {"eth0": 4, "ib0": 3}


def test_names_that_are_new_each_time_change_the_layout_rarely() -> None:
    """Interfaces with a new name every three seconds change the layout at most 20 times in an hour."""
    probe = Interfaces("eth0", "net0")
    runner = Runner([probe], 0.5)
    layouts: list[object] = []
    for second in range(3600):
        probe.names = ("eth0", f"net{second // 3}")
        columns = runner.run(second * NANOSECONDS)[0].columns
        if not layouts or layouts[-1] is not columns:
            layouts.append(columns)
    assert 3 <= len(layouts) <= 20


def test_after_a_calm_period_changes_apply_at_once_again() -> None:
    """The next new device is shown without a wait if nothing changed for some ten minutes."""
    steady = SteadyColumns("network")
    for second in range(0, 300, 3):
        fit_at(steady, second, "eth0", f"net{second}")
    calm = 300 + 3 * LONGEST_WAIT_SECONDS
    fit_at(steady, calm, "eth0", "net300")
    assert fit_at(steady, 2 * calm, "eth0", "net300", "ib0")["ib0"] == 3


@given(st.lists(st.tuples(st.integers(0, 200), st.sets(st.sampled_from("abcdef"), max_size=6)), max_size=40))
def test_values_stay_with_their_resource(steps: list[tuple[int, set[str]]]) -> None:
    """Whatever comes and goes, each column has the value of its own resource, or none."""
    steady, second = SteadyColumns("network"), 0
    for pause, letters in steps:
        second += pause
        present = {letter * (1 + ord(letter) - ord("a")): 1 + ord(letter) - ord("a") for letter in letters}
        for name, value in fit_at(steady, second, *sorted(present)).items():
            assert value == present.get(name)
