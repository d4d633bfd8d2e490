"""The processes of a run that can be captured, as the agents report them."""

from flyball_collector.captures.targets import by_last_step, targets_of
from flyball_collector.fleet.fleet import Fleet
from flyball_proto.v1 import telemetry_pb2 as pb

NOW = 1_900_000_000 * 10**9


def member(pid: int, run: str, rank: int, world_size: int = 4, source: str = "client", **labels: str) -> pb.Member:
    return pb.Member(pid=pid, run=run, rank=rank, world_size=world_size, source=source, labels=labels)


def fleet_of(**hosts: list[pb.Member]) -> Fleet:
    fleet = Fleet()
    for name, members in hosts.items():
        state = fleet.ensure(name)
        state.connected = name != "gone"
        state.received_ns = NOW
        state.tenancy = pb.Tenancy(members=members)
    fleet.runs.advance(NOW, {state.name: state for state in fleet.hosts()})
    return fleet


def test_one_process_of_each_rank_is_found_across_hosts() -> None:
    """Ranks are sorted, and a process with a client represents its rank."""
    fleet = fleet_of(
        b=[member(21, "r", 1), member(22, "other", 0)],
        a=[member(12, "r", 0, source="slurm"), member(11, "r", 0)],
        gone=[member(31, "r", 2)],
    )
    found = targets_of(fleet, "r")
    assert [(each.rank, each.host, each.pid, each.has_client, each.connected) for each in found] == [
        (0, "a", 11, True, True),
        (1, "b", 21, True, True),
        (2, "gone", 31, True, False),
    ]
    assert targets_of(fleet, "unknown") == []


def test_processes_without_a_rank_are_all_found() -> None:
    """A run that an agent found by its processes may have no ranks."""
    fleet = fleet_of(a=[member(11, "r", 0, 0, "cgroup"), member(12, "r", 0, 0, "cgroup")])
    assert [(each.rank, each.pid) for each in targets_of(fleet, "r")] == [(None, 11), (None, 12)]


def test_a_job_whose_rank_opened_a_run_is_that_run() -> None:
    """Ranks of the job without a client belong to the run of the one that has one."""
    fleet = fleet_of(a=[member(11, "named", 0, job="slurm-7"), member(12, "slurm-7", 1, source="slurm")])
    assert [(each.rank, each.has_client) for each in targets_of(fleet, "named")] == [(0, True), (1, False)]


def test_those_that_stopped_first_come_first() -> None:
    """The rank at the lowest step is the most interesting one of a hang; unknown steps come last."""
    fleet = fleet_of(a=[member(10 + rank, "r", rank) for rank in range(3)])
    steps = [pb.StepReport(run="r", rank=rank, world_size=3, step=step, steps=1) for rank, step in ((0, 9), (1, 7))]
    fleet.ranks.add_reports("a", steps, NOW, NOW)
    fleet.ranks.settle()
    assert [each.rank for each in by_last_step(fleet, "r")] == [1, 0, 2]
