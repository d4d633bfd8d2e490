"""Collector stopped, network partitioned, host dead: agents keep what they have, and nothing is lost or doubled."""

import time
from pathlib import Path
from signal import SIGCONT, SIGSTOP

import pytest

from tests.faults.conftest import AgentMaker
from tests.judge import assert_whole, last_sequence, newest_live
from tests.processes import Collector, wait_for
from tests.proxy import Proxy
from tests.stored import read_stored

pytestmark = pytest.mark.faults


def test_a_paused_collector_catches_up(collector: Collector, make_agent: AgentMaker) -> None:
    """Six seconds without a living collector cost no record."""
    agent = make_agent().start()
    wait_for("the host reports", lambda: newest_live(collector, "node-1"))
    collector.send(SIGSTOP)
    time.sleep(6)
    collector.send(SIGCONT)
    paused_at = last_sequence(collector, "node-1")
    wait_for("live again", lambda: last_sequence(collector, "node-1") > paused_at + 40)
    assert_whole(collector, agent, "node-1", at_least=paused_at + 40)


def test_a_killed_collector_is_replaced(collector: Collector, make_agent: AgentMaker) -> None:
    """Records that a killed collector held in memory are sent again to the next one."""
    agent = make_agent().start()
    wait_for("two seconds of records have arrived", lambda: last_sequence(collector, "node-1") > 10)
    collector.kill()
    time.sleep(2)
    collector.start_ready()
    wait_for("the host reports again", lambda: last_sequence(collector, "node-1") > 25)
    assert_whole(collector, agent, "node-1", at_least=25)


def test_a_half_open_connection_is_noticed_and_replaced(collector: Collector, make_agent: AgentMaker) -> None:
    """A network that swallows everything is noticed by keepalive, 20 s later at the latest; nothing is lost."""
    with Proxy(collector.grpc_port) as network:
        agent = make_agent(port=network.port).start()
        wait_for("the host reports", lambda: newest_live(collector, "node-1"))
        network.freeze()
        wait_for(
            "the agent logs that the connection is gone",
            lambda: "collector_unreachable" in agent.log.read_text(),
            seconds=45,  # 20 on an idle machine; the kernel alone would need a quarter of an hour
        )
        network.thaw()
        before = last_sequence(collector, "node-1")
        wait_for("the host reports again", lambda: last_sequence(collector, "node-1") > before + 5)
        assert_whole(collector, agent, "node-1", at_least=before)


def test_connections_cut_again_and_again_lose_nothing(collector: Collector, make_agent: AgentMaker) -> None:
    """Ten cuts, each after a second."""
    with Proxy(collector.grpc_port) as network:
        agent = make_agent(port=network.port).start()
        wait_for("the host reports", lambda: newest_live(collector, "node-1"))
        for _ in range(10):
            time.sleep(1)
            network.cut()
        before = last_sequence(collector, "node-1")
        wait_for("the host reports again", lambda: last_sequence(collector, "node-1") > before + 5)
        assert_whole(collector, agent, "node-1", at_least=before)


def test_a_dead_hosts_last_records_are_stored_within_fifteen_seconds(
    tmp_path: Path, collector: Collector, make_agent: AgentMaker
) -> None:
    """The last minute of a host that died is the evidence that matters most."""
    del tmp_path
    agent = make_agent().start()
    wait_for("two seconds of records have arrived", lambda: last_sequence(collector, "node-1") > 10)
    agent.kill()
    newest = last_sequence(collector, "node-1")
    wait_for(
        "the last record is durable",
        lambda: any(newest in found.rows for found in read_stored(collector.database, "node-1").values()),
        seconds=45,  # 15 on an idle machine
        pause_seconds=0.3,
    )


def test_an_agent_killed_again_and_again_loses_at_most_the_tick_in_flight(
    collector: Collector, make_agent: AgentMaker
) -> None:
    """Each life is an epoch of its own; what a killed one had spooled is sent by the next."""
    agent = make_agent().start()
    for _ in range(5):
        before = newest_live(collector, "node-1")
        wait_for("the new epoch reports", lambda last=before: newest_live(collector, "node-1") != last)  # type: ignore[misc]
        time.sleep(1.3)
        agent.kill()
        agent.start()
    before = newest_live(collector, "node-1") or ("", 0)
    wait_for("the last epoch reports", lambda: (newest_live(collector, "node-1") or before)[0] != before[0])
    epochs = assert_whole(collector, agent, "node-1", at_least=1)
    assert len(epochs) >= 5
