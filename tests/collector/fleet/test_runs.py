"""Tests of runs that are known by the processes that agents report."""

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.fleet.host import HostState
from flyball_collector.fleet.runs import FORGET_AFTER_SECONDS, MAX_ENDED, FleetRun, FleetRuns, RunPhase
from flyball_proto.v1 import telemetry_pb2 as pb

SECOND = 10**9
START = 1_700_000_000
END_AFTER = 30


def member(run: str, rank: int = 0, size: int = 0, source: str = "slurm", **fields: object) -> pb.Member:
    known = {"user": "ada", "pid": 100 + rank, "gpus": [f"GPU-{rank}"], "started_ns": START * SECOND, **fields}
    return pb.Member(run=run, rank=rank, world_size=size, source=source, **known)  # type: ignore[arg-type]  # fields


class Hosts:
    """Hosts that report their processes second by second."""

    def __init__(self) -> None:
        self.states: dict[str, HostState] = {}
        self.runs = FleetRuns(END_AFTER)
        self.now = float(START)

    def hold(self, seconds: float = 1, stopped: Sequence[str] = (), **members: Sequence[pb.Member]) -> None:
        """Change the processes of some hosts, and let all hosts report for a time, except the stopped ones."""
        for host, held in members.items():
            state = self.states.setdefault(host, HostState(host))
            state.tenancy = pb.Tenancy(members=held) if held else None
        self.now += seconds
        for state in self.states.values():
            if state.name not in stopped:
                state.received_ns = round(self.now * SECOND)
        self.runs.advance(round(self.now * SECOND), self.states)

    def all(self) -> Mapping[str, FleetRun]:
        return self.runs.all(round(self.now * SECOND), self.states)


def test_the_processes_of_a_job_are_one_run() -> None:
    """Processes of one name on two hosts are one run with their hosts, GPUs, ranks, users and common labels."""
    hosts = Hosts()
    labels = {"slurm_job": "7", "slurm_partition": "gpu"}
    of_process = {**labels, "container": "ab12"}
    first = [member("slurm-7", rank, 4, labels={**of_process, "team": "nlp"}) for rank in (0, 1)]
    second = [member("slurm-7", rank, 4, labels=of_process, started_ns=(START - 5) * SECOND) for rank in (2, 3)]
    hosts.hold(a=first, b=second, c=[member("slurm-8")])
    run = hosts.all()["slurm-7"]
    assert (run.phase, run.source, run.users, run.hosts) == (RunPhase.RUNNING, "slurm", ("ada",), ("a", "b"))
    assert (run.gpus, run.processes, run.ranks, run.world_size) == (4, 4, 4, 4)
    assert (run.started_ns, run.last_seen_ns) == ((START - 5) * SECOND, round(hosts.now * SECOND))
    assert run.labels == labels
    assert (hosts.runs.of_host("a"), hosts.runs.of_host("c")) == (["slurm-7"], ["slurm-8"])


def test_unknown_is_not_zero() -> None:
    """Without a world size the number of ranks is unknown. Processes without a run are none."""
    hosts = Hosts()
    hosts.hold(a=[member("job-7"), member("", rank=1)])
    (run,) = hosts.all().values()
    assert (run.run, run.ranks, run.world_size, run.processes) == ("job-7", None, None, 1)


def test_a_run_ends_when_its_processes_have_been_gone_for_a_while() -> None:
    """A pause is not an end. An ended run keeps what was seen of it and when, and is forgotten after a day."""
    hosts = Hosts()
    hosts.hold(a=[member("slurm-7", 0, 2)], b=[member("slurm-7", 1, 2)])
    hosts.hold(a=())
    hosts.hold(b=())
    seen = hosts.now
    hosts.hold(END_AFTER - 5)
    assert hosts.all()["slurm-7"].phase is RunPhase.RUNNING
    hosts.hold(10)
    run = hosts.all()["slurm-7"]
    assert (run.phase, run.hosts, run.gpus, run.ranks, run.processes) == (RunPhase.ENDED, ("a", "b"), 2, 2, 0)
    assert run.last_seen_ns == round(seen * SECOND)
    hosts.hold(FORGET_AFTER_SECONDS)
    assert hosts.all() == {}


def test_a_short_pause_does_not_begin_a_run_again() -> None:
    """Processes that disappear for some seconds and return, as when an agent restarts, are the same run."""
    hosts = Hosts()
    hosts.hold(a=[member("slurm-7")])
    hosts.hold(10, a=())
    hosts.hold(10, a=[member("slurm-7", started_ns=(START + 20) * SECOND)])
    assert hosts.all()["slurm-7"].started_ns == START * SECOND
    assert hosts.all()["slurm-7"].phase is RunPhase.RUNNING


def test_a_job_at_the_address_of_another_one_is_another_run() -> None:
    """torchrun's next job begins again when the first one has left; a restart by torchrun itself does not."""
    hosts = Hosts()
    first = {"source": "torchrun", "labels": {"torchrun_restarts": "0"}}
    again = {"source": "torchrun", "labels": {"torchrun_restarts": "1"}}
    later = (START + 5) * SECOND
    hosts.hold(a=[member("torchrun-n1:1", **first)], b=[member("torchrun-n2:1", **first)])  # type: ignore[arg-type]
    hosts.hold(5, a=(), b=())
    hosts.hold(
        a=[member("torchrun-n1:1", started_ns=later, **first)],  # type: ignore[arg-type]
        b=[member("torchrun-n2:1", started_ns=later, **again)],  # type: ignore[arg-type]
    )
    assert hosts.all()["torchrun-n1:1"].started_ns == later
    assert hosts.all()["torchrun-n2:1"].started_ns == START * SECOND


def test_a_host_that_does_not_report_neither_ends_nor_continues_its_run() -> None:
    """Nothing is known about it: the run is `not_reporting`, and its last sign is that host's last record."""
    hosts = Hosts()
    hosts.hold(a=[member("slurm-7")])
    last = hosts.now
    hosts.hold(120, stopped=("a",))
    run = hosts.all()["slurm-7"]
    assert (run.phase, run.last_seen_ns) == (RunPhase.NOT_REPORTING, round(last * SECOND))
    hosts.hold()
    assert hosts.all()["slurm-7"].phase is RunPhase.RUNNING


def test_a_removed_host_has_no_processes() -> None:
    """The run of a host that is removed from the fleet ends."""
    hosts = Hosts()
    hosts.hold(a=[member("slurm-7")])
    del hosts.states["a"]
    hosts.hold(END_AFTER + 1)
    hosts.hold()
    assert hosts.all()["slurm-7"].phase is RunPhase.RUNNING
    hosts.hold(END_AFTER)
    assert hosts.all()["slurm-7"].phase is RunPhase.ENDED


def test_a_client_takes_over_the_run_of_its_job() -> None:
    """The run of the job becomes the client's, with all ranks, also those without a client on other hosts."""
    hosts = Hosts()
    hosts.hold(a=[member("slurm-7", 0, 2)], b=[member("slurm-7", 1, 2)])
    client = member("bert", 0, 2, source="client", labels={"job": "slurm-7"}, started_ns=(START + 9) * SECOND)
    hosts.hold(10, a=[client])
    (run,) = hosts.all().values()
    assert (run.run, run.source, run.hosts, run.ranks) == ("bert", "client", ("a", "b"), 2)
    assert run.started_ns == START * SECOND
    assert hosts.runs.of_host("b") == ["bert"]
    hosts.hold(a=[member("slurm-7", 0, 2)])  # after the goodbye of the client its process goes on
    assert [*hosts.all()] == ["bert"]
    hosts.hold(a=(), b=())
    hosts.hold(END_AFTER)
    assert [run.phase for run in hosts.all().values()] == [RunPhase.ENDED]


def test_two_clients_in_a_job_are_two_runs() -> None:
    """Processes without a client belong to the only client that runs; if there are two, they stay with the job."""
    hosts = Hosts()
    first = member("first", 0, source="client", labels={"job": "slurm-7"})
    second = member("second", 1, source="client", labels={"job": "slurm-7"})
    rest = member("slurm-7", 2)
    hosts.hold(a=[first, second, rest])
    assert {run.run: run.processes for run in hosts.all().values()} == {"first": 1, "second": 1, "slurm-7": 1}
    hosts.hold(a=[second, rest])
    assert {run.run: run.processes for run in hosts.all().values()} == {"first": 0, "second": 2}


def test_ended_runs_are_limited() -> None:
    """The oldest ones are forgotten."""
    hosts = Hosts()
    for number in range(3):
        hosts.hold(100, a=[member(f"slurm-{number}-{each}", each) for each in range(MAX_ENDED // 2)])
    hosts.hold(a=())
    hosts.hold(100)
    names = hosts.all().keys()
    assert len(names) == MAX_ENDED
    assert not any(name.startswith("slurm-0") for name in names)


steps = st.lists(
    st.tuples(
        st.sampled_from("abc"),
        st.lists(st.tuples(st.sampled_from(("r", "s", "job")), st.booleans(), st.integers(0, 3)), max_size=4),
        st.floats(0.1, 50),
    ),
    max_size=12,
)


@given(steps)
def test_each_process_belongs_to_one_run(changes: list[tuple[str, list[tuple[str, bool, int]], float]]) -> None:
    """The processes of all runs are those of all hosts, whatever changes, and cached answers are current."""
    hosts = Hosts()
    for host, held, seconds in changes:
        found = [
            member(run, rank, 4, source="client" if client else "slurm", labels={"job": "job"} if client else {})
            for run, client, rank in held
        ]
        hosts.hold(seconds, (), **{host: found})
        runs = hosts.all()
        existing = [each for state in hosts.states.values() if state.tenancy for each in state.tenancy.members]
        assert sum(run.processes for run in runs.values()) == len(existing)
        assert all(run.phase is RunPhase.RUNNING for run in runs.values() if run.processes)
        hosts.runs._shapes.clear()
        assert hosts.all() == runs


def test_the_labels_of_a_client_count_although_its_process_was_seen_before() -> None:
    """A rank holds its GPU before its client connects, and others never have one; total_steps is of the whole run."""
    hosts = Hosts()
    without = [member("bert", rank, 2, source="environment", labels={"team": "nlp"}) for rank in (0, 1)]
    hosts.hold(a=without)
    assert hosts.all()["bert"].labels == {"team": "nlp"}
    client = member("bert", 0, 2, source="client", labels={"team": "nlp", "total_steps": "100", "job": "bert"})
    hosts.hold(a=[client, without[1]])
    run = hosts.all()["bert"]
    assert run.labels == {"team": "nlp", "total_steps": "100"}
    assert (len(hosts.all()), run.ranks, run.processes, run.source) == (1, 2, 2, "client")
    hosts.hold(a=[])
    hosts.hold(END_AFTER + 1)
    run = hosts.all()["bert"]
    assert (run.phase, run.labels) == (RunPhase.ENDED, {"team": "nlp", "total_steps": "100"})


def test_a_new_attempt_may_have_other_labels_and_fewer_ranks() -> None:
    """A run that is continued with more steps has the new number, also after its end."""
    hosts = Hosts()
    first, second = ({"total_steps": steps} for steps in ("100", "200"))
    hosts.hold(a=[member("bert", rank, 2, source="client", labels=first) for rank in (0, 1)])
    assert (hosts.all()["bert"].ranks, hosts.all()["bert"].world_size) == (2, 2)
    hosts.hold(a=[])
    hosts.hold(a=[member("bert", 0, 1, source="client", labels=second, attempt=1)])
    run = hosts.all()["bert"]
    assert (run.labels, run.ranks, run.world_size) == (second, 1, 1)
    hosts.hold(a=[])
    hosts.hold(END_AFTER + 1)
    run = hosts.all()["bert"]
    assert (run.phase, run.labels) == (RunPhase.ENDED, second)
