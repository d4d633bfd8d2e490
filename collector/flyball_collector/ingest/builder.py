"""Open blocks in the form that is stored; those of a large fleet are built by a process of its own.

A thread that builds takes the interpreter from the event loop, which reads a thousand sockets a second and has to get
it back after each: blocks of 2,048 hosts, a fifth of the collector's work, then cost the loop as much again in waiting.
"""

from collections.abc import Sequence

import structlog

from flyball_collector.blocks.block import Block
from flyball_collector.blocks.build import check_columns
from flyball_collector.blocks.errors import BlockError
from flyball_collector.blocks.worker import Draft, built
from flyball_collector.ingest.counts import Counts
from flyball_collector.ingest.gather import OpenBlock
from flyball_collector.worker_process import GoneError, WorkerProcess

_log = structlog.get_logger(__name__)

LIMIT_SECONDS = 60.0
"""A batch takes a tenth of a second, some on a busy machine; what takes longer hangs."""

LARGE_FLEET = 256
"""Hosts from which on a process of its own builds, as one renders: it costs them some 40 MB."""

_MODULE = "flyball_collector.blocks.worker"


class Builder:
    """One thread at a time."""

    def __init__(self, counts: Counts, *, large_fleet: int = LARGE_FLEET, limit_seconds: float = LIMIT_SECONDS) -> None:
        self._counts = counts
        self._large_fleet = large_fleet
        self._apart = WorkerProcess(_MODULE, limit_seconds=limit_seconds)

    @property
    def pid(self) -> int | None:
        """Of the process that builds, while there is one."""
        return self._apart.pid

    def build(self, blocks: Sequence[OpenBlock], of_all: int) -> list[Block]:
        """Some blocks of all that are open: one a host, more where hosts replay.

        Where the process fails, this thread builds: slower for all, but it does.
        """
        drafts = [draft(block) for block in blocks]
        if of_all >= self._large_fleet:
            try:
                return _blocks(self._apart.ask(drafts))
            except GoneError as error:
                self._counts.builder_failures += 1
                _log.warning("builder_lost", error=str(error), remedy="the next blocks start it again")
        return _blocks(built(drafts))

    def close(self) -> None:
        """End the process, if there is one."""
        self._apart.close()


def draft(block: OpenBlock) -> Draft:
    """What is built of an open block; rows that are not as wide as their layout are a `BlockError`."""
    groups = block.groups()
    check_columns(groups, block.layouts())
    return Draft(block.key, block.ticks, groups, block.lost, block.refused, block.received_ns)


def _blocks(answer: list[Block] | BlockError) -> list[Block]:
    if isinstance(answer, BlockError):
        raise answer
    return answer
