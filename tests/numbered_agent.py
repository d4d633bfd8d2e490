"""A process that sends numbered records through the agent's spool and uplink, for tests that kill it.

Each record contains its sequence and a checksum of epoch and sequence. After `Spool.append` has returned, the sequence
is written to a log. In the end each sequence in the log must be in the store exactly once, with the right checksum.
"""

import asyncio
import os
import secrets
import signal
import sys
import time
from pathlib import Path

from flyball_agent.clock import KernelClock
from flyball_agent.record import Definition, Epoch, TickRecord
from flyball_agent.self_metrics import SelfMetrics
from flyball_agent.settings import SpoolSettings, TlsSettings
from flyball_agent.spool.spool import Spool
from flyball_agent.uplink.stream import AgentState
from flyball_agent.uplink.uplink import Uplink, UplinkSettings
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.raw_agent import LAYOUT, record

HOST = "numbered"
RECORDS_PER_SECOND = 40
_DEFINITION = Definition.of(pb.Definition.LAYOUT, LAYOUT.body)


def main() -> None:
    """Run `python -m tests.numbered_agent DIRECTORY PORT`."""
    asyncio.run(_run(Path(sys.argv[1]), int(sys.argv[2])))


async def _run(directory: Path, port: int) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    clock, self_metrics = KernelClock(), SelfMetrics()
    spool_settings = SpoolSettings(segment_bytes=8192)
    spool = Spool(directory / "spool", spool_settings, clock=clock, self_metrics=self_metrics, announce=lambda *_: None)
    epoch = Epoch(secrets.token_bytes(16), clock.wall_ns(), "boot-numbered", 1000)
    spool.begin(epoch)
    agent = AgentState(HOST, "0.1.0", spool, clock, self_metrics)
    uplink = Uplink(UplinkSettings([f"127.0.0.1:{port}"], TlsSettings(), max_backoff_seconds=0.3), agent)
    async with asyncio.TaskGroup() as group:
        group.create_task(uplink.run(stop), name="uplink")
        group.create_task(_send_records(epoch, spool, uplink, directory / "written.log", stop), name="records")
    spool.close()


async def _send_records(epoch: Epoch, spool: Spool, uplink: Uplink, log: Path, stop: asyncio.Event) -> None:
    written = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    sequence, started = 0, time.monotonic()
    while not stop.is_set():
        tick = TickRecord(sequence, record(epoch.id, sequence).SerializeToString(), (_DEFINITION,))
        spool.append(tick)
        os.write(written, f"{epoch.name} {sequence}\n".encode())
        uplink.offer(epoch.id, tick)
        sequence += 1
        await asyncio.sleep(max(0, started + sequence / RECORDS_PER_SECOND - time.monotonic()))


if __name__ == "__main__":
    main()
