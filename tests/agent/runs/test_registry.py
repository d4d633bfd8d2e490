"""The registry of runs: processes with several connections, attempts, and processes that the agent cannot see."""

from flyball_agent.runs.messages import Hello, StepsMessage
from flyball_agent.runs.registry import MAX_REPORTS, ReportingProcess, RunRegistry, SocketPeer

STEPS = StepsMessage(step=1, steps=1, step_seconds=0.5)


def test_a_process_has_the_fields_of_its_hello() -> None:
    """Attempt, group, policy and version; a policy of a newer client is unknown, and control characters are spaces."""
    registry = RunRegistry()
    peer = SocketPeer(7, 1000)
    registry.open(peer, Hello("r", attempt=2, group="slurm-9\n", policy="ask", client="0.2.0"), 0.0)
    assert registry.clients() == {
        7: ReportingProcess(7, 1000, "r", 0, 1, {}, attempt=2, group="slurm-9", policy="ask", version="0.2.0")
    }
    registry.open(peer, Hello("r", policy="sometimes"), 0.0)
    assert registry.clients() == {7: ReportingProcess(7, 1000, "r", 0, 1, {})}


def test_a_new_attempt_is_the_same_run() -> None:
    """After a second hello the reports have the new attempt, and the run still belongs to its user."""
    registry, peer = RunRegistry(), SocketPeer(7, 1000, 1)
    first, second = Hello("r"), Hello("r", attempt=1)
    registry.open(peer, first, 0.0)
    registry.report(peer, first, STEPS)
    registry.leave(peer, first, 1.0)
    registry.open(peer, second, 1.0)
    registry.report(peer, second, STEPS)
    (report,) = registry.take_reports()
    assert (report.attempt, report.steps) == (1, 2)
    assert registry.clients()[7].attempt == 1


def test_a_process_with_two_connections_stays_until_both_are_closed() -> None:
    """The newest one names the run. A notebook may open a run again before the old connection is closed."""
    registry, old, new = RunRegistry(), SocketPeer(7, 1000, 1), SocketPeer(7, 1000, 2)
    registry.open(old, Hello("r"), 0.0)
    registry.open(new, Hello("evaluation"), 1.0)
    assert registry.clients()[7].run == "evaluation"
    registry.leave(new, Hello("evaluation"), 2.0)
    assert registry.clients()[7].run == "r"
    registry.open(new, Hello("r"), 3.0)
    registry.leave(old, Hello("r"), 4.0)
    assert registry.clients()[7].run == "r"
    registry.leave(new, Hello("r"), 5.0)
    assert registry.clients() == {}


def test_processes_without_a_visible_id_are_distinguished() -> None:
    """The kernel reports 0 for each process of a PID namespace that the agent does not see."""
    registry = RunRegistry()
    ranks = {rank: SocketPeer(0, 1000, connection=rank + 1) for rank in range(3)}
    for rank, peer in ranks.items():
        registry.open(peer, Hello("r", rank=rank, world_size=3), 0.0)
        registry.report(peer, Hello("r", rank=rank, world_size=3), STEPS)
    assert sorted(client.rank for client in registry.clients().values()) == [0, 1, 2]
    assert all(pid < 0 for pid in registry.clients())
    assert [(report.rank, report.pid, report.steps) for report in registry.take_reports()] == [
        (0, 0, 1),
        (1, 0, 1),
        (2, 0, 1),
    ]
    registry.leave(ranks[1], Hello("r", rank=1, world_size=3), 1.0)
    assert sorted(client.rank for client in registry.clients().values()) == [0, 2]


def test_a_process_that_leaves_between_two_readings_is_read_once() -> None:
    """A run of half a second has its user and labels. What runs now takes precedence, also under the same id."""
    registry = RunRegistry()
    peer, hello = SocketPeer(7, 1000, 1), Hello("short", labels={"team": "nlp"})
    registry.open(peer, hello, 0.0)
    registry.leave(peer, hello, 0.5)
    assert registry.clients() == {}
    assert registry.take_clients()[7].labels == {"team": "nlp"}
    assert registry.take_clients() == {}
    registry.open(peer, hello, 1.0)
    registry.leave(peer, hello, 1.5)
    registry.open(SocketPeer(7, 1000, 2), Hello("next"), 1.6)
    assert registry.take_clients()[7].run == "next"
    for number in range(100, 3100):
        registry.open(SocketPeer(number, 1000, number), hello, 2.0)
        registry.leave(SocketPeer(number, 1000, number), hello, 2.0)
    assert len(registry.take_clients()) == 1 + MAX_REPORTS
