"""Recorded step reports are rewritten as another way of reporting would have made them."""

import pytest

from flyball_proto.v1 import telemetry_pb2 as pb
from tests.benchmarks.labelled.as_reported import AsReported, as_reported

SECONDS = {"data": 0.1, "forward": 0.2, "backward": 0.3, "optimizer": 0.05, "service": 0.4, "checkpoint": 0.5}


def rewritten(reports: AsReported) -> pb.Record:
    """Return a record with one report, rewritten."""
    record = pb.Record(steps=[pb.StepReport(run="r", step=7, loss=2.0, data_wait_seconds=0.1, section_seconds=SECONDS)])
    return pb.Record.FromString(as_reported(record.SerializeToString(), reports))


def test_hooks_know_less() -> None:
    """They cannot separate forward from backward, name a service by its address, and know no loss."""
    (report,) = rewritten("hooks").steps
    assert dict(report.section_seconds) == pytest.approx(
        {"forward_backward": 0.5, "optimizer": 0.05, "call 127.0.0.1:80": 0.4, "checkpoint": 0.5}
    )
    assert not report.HasField("loss")
    assert report.data_wait_seconds == 0.1


def test_the_client_names_calls_and_counts_waiting_separately() -> None:
    """All else is as in the loop."""
    (report,) = rewritten("client").steps
    assert dict(report.section_seconds) == {
        "forward": 0.2, "backward": 0.3, "optimizer": 0.05, "call service": 0.4, "checkpoint": 0.5,
    }  # fmt: skip
    assert report.loss == 2.0


def test_one_line_of_code_reports_only_the_time_of_steps() -> None:
    """The step, their number and their seconds; no section, and not the wait for data."""
    (report,) = rewritten("steps").steps
    assert report.step == 7
    assert not report.section_seconds
    assert not report.HasField("data_wait_seconds")
    assert not report.HasField("loss")


def test_reports_may_be_left_out_or_left_as_they_are() -> None:
    """Records without reports stay empty."""
    assert not rewritten("none").steps
    assert dict(rewritten("recorded").steps[0].section_seconds) == SECONDS
    assert as_reported(b"", "hooks") == b""
