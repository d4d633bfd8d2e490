"""The newest events of a host."""

from flyball_collector.fleet.events import MAX_EVENTS, HostEvent, add_events
from flyball_proto.v1 import telemetry_pb2 as pb


def _extras(*times: int, kind: str = "gpu_xid") -> bytes:
    events = [
        pb.HostEvent(kind=kind, time_ns=time, resource="GPU-1", code=79, text="fell off the bus") for time in times
    ]
    return pb.Record(events=events, gpu_processes=[pb.GpuProcess(gpu="GPU-1", pid=7)]).SerializeToString()


def test_events_are_kept_in_the_order_of_their_time() -> None:
    """The older event of a replayed record is sorted before known ones."""
    events = add_events(add_events((), _extras(30)), _extras(10, 20))
    assert [event.time_ns for event in events] == [10, 20, 30]
    assert events[0] == HostEvent(10, "gpu_xid", "GPU-1", 79, "fell off the bus")


def test_a_repeated_event_is_kept_once() -> None:
    """A record that is stored and replayed after a restart adds nothing."""
    once = add_events((), _extras(10))
    assert add_events(once, _extras(10)) == once


def test_a_flood_keeps_the_newest() -> None:
    """Memory is limited, and the oldest are dropped."""
    events = add_events((), _extras(*range(1, 1000)))
    assert [event.time_ns for event in events] == list(range(1000 - MAX_EVENTS, 1000))
    assert len(add_events((), _extras(1, kind="x" * 100_000))[0].kind) == 500


def test_extras_without_events_change_nothing() -> None:
    """Neither do a text that looks like the field's tag, or bytes that cannot be parsed."""
    known = add_events((), _extras(10))
    assert add_events(known, b"") is known
    assert add_events(known, pb.Record(steps=[pb.StepReport(run="RRRR")]).SerializeToString()) is known
    assert add_events(known, b"R\xff\xff") is known
