"""The runs that a condition concerns: those of its GPU, of its host, or its own."""

from flyball_collector.fleet.fleet import Fleet
from flyball_collector.notify.affected_runs import affected_runs
from flyball_collector.timeline.entry import Entry
from flyball_proto.v1 import telemetry_pb2 as pb


def fleet_of(*members: pb.Member) -> Fleet:
    fleet = Fleet()
    fleet.ensure("a").tenancy = pb.Tenancy(members=members)
    fleet.advance(0)
    return fleet


def entry(**about: str) -> Entry:
    return Entry(id="1", time_ns=0, state="raised", kind="thermal_slowdown", **about)  # type: ignore[arg-type]


def member(run: str, user: str, *gpus: str) -> pb.Member:
    return pb.Member(run=run, user=user, gpus=gpus, world_size=1)


def test_a_gpu_concerns_the_runs_that_hold_it() -> None:
    """Others on the same host are not named; a host concerns all of them."""
    fleet = fleet_of(member("llama", "ada", "G0"), member("llama", "ada", "G1"), member("bert", "bob", "G2"))
    assert affected_runs(fleet, entry(host="a", gpu="G1"), 0) == "llama (ada)"
    assert affected_runs(fleet, entry(host="a"), 0) == "llama (ada), bert (bob)"
    assert affected_runs(fleet, entry(host="a", gpu="G9"), 0) == ""
    assert affected_runs(fleet, entry(host="unknown"), 0) == ""


def test_a_run_is_named_with_its_user() -> None:
    """A run without processes has no user."""
    fleet = fleet_of(member("llama", "ada"))
    assert affected_runs(fleet, entry(run="llama"), 0) == "llama (ada)"
    assert affected_runs(fleet, entry(run="steps only"), 0) == "steps only"


def test_many_runs_are_counted() -> None:
    """Three are named."""
    fleet = fleet_of(*(member(f"r{number}", "") for number in range(5)))
    assert affected_runs(fleet, entry(host="a"), 0) == "r0, r1, r2 and 2 more"
