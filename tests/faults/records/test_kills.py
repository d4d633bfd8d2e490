"""`kill -9` of agent and collector at random moments, round after round: every record once, none invented."""

import random
import sys
import time
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.numbered_agent import HOST
from tests.processes import Collector, Process, wait_for
from tests.raw_agent import checksum
from tests.stored import Stored, read_stored

pytestmark = pytest.mark.faults

ROUNDS = 12
ENOUGH = 300
"""Records written. Until then there are more rounds, each after some records, however slow the machine is."""


def test_random_kills_lose_nothing_and_double_nothing(tmp_path: Path, processes: ExitStack) -> None:
    """Whatever was spooled before a kill is in the store in the end: counted, and with the right checksum."""
    collector = processes.enter_context(
        Collector(tmp_path / "collector", {"not_reporting_after_seconds": 1})
    ).start_ready()
    command = [sys.executable, "-m", "tests.numbered_agent", str(tmp_path), str(collector.grpc_port)]
    agent = processes.enter_context(Process(command, tmp_path / "agent.log")).start()
    moments = random.Random(20260)
    log, number = tmp_path / "written.log", 0
    while number < ROUNDS or _count(log) <= ENOUGH:
        number += 1
        if number > ROUNDS:
            _wait_for_records(log, 20)
        time.sleep(moments.uniform(0.2, 1.2))
        choices: list[list[Process]] = [[collector], [agent], [agent, collector]]
        victims = moments.choice(choices)
        for victim in victims:
            victim.kill()
        time.sleep(moments.uniform(0.0, 0.4))
        for victim in victims:
            victim.start()
        assert all(p.alive() for p in (agent, collector)), f"round {number}: {collector.tail()}{agent.tail()}"
    _wait_for_records(log, 1)
    agent.stop()
    agent.start()  # the last life's spool is sent by the next one, as after any restart
    written = _written(log)
    stored = wait_for(
        "everything written is stored", lambda: _complete(collector, written), seconds=120, pause_seconds=0.5
    )
    for epoch, sequences in written.items():
        found = stored[epoch]
        assert not found.lost
        assert not found.refused
        assert max(found.rows.values()) == 1
        assert set(sequences) <= set(found.rows)
        assert len(set(found.rows) - set(sequences)) <= 1 or epoch == list(written)[-1], "records out of nowhere"
        assert all(row == (n, checksum(epoch, n)) for n, row in found.values.items())


def _wait_for_records(log: Path, count: int) -> None:
    before = _count(log)
    wait_for("the agent writes", lambda: _count(log) >= before + count)


def _count(log: Path) -> int:
    return sum(map(len, _written(log).values()))


def _written(log: Path) -> dict[bytes, list[int]]:
    written: dict[bytes, list[int]] = defaultdict(list)
    for line in log.read_text().splitlines() if log.exists() else ():
        epoch, _, sequence = line.partition(" ")
        if len(epoch) == 32 and sequence.isdigit():
            written[bytes.fromhex(epoch)].append(int(sequence))
    return dict(written)


def _complete(collector: Collector, written: dict[bytes, list[int]]) -> dict[bytes, Stored] | None:
    stored = read_stored(collector.database, HOST)
    missing = [epoch for epoch, sequences in written.items() if set(sequences) - set(stored.get(epoch, Stored()).rows)]
    return None if missing else stored
