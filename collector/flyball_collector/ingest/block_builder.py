"""Builds stored blocks from open blocks. A large fleet's blocks are built in a worker process.

A building thread would take the interpreter from the event loop, which reads a thousand sockets a second and must
get it back after each. For 2,048 hosts building is a fifth of the collector's work, and the loop waited as long again.
"""

from collections.abc import Sequence

import structlog

from flyball_collector.blocks.assembly import check_columns
from flyball_collector.blocks.block import Block
from flyball_collector.blocks.errors import BlockError
from flyball_collector.blocks.worker import BlockDraft, build_all
from flyball_collector.ingest.block_buffer import OpenBlock
from flyball_collector.ingest.counts import Counts
from flyball_collector.worker_process import WorkerLostError, WorkerProcess

_log = structlog.get_logger(__name__)

LIMIT_SECONDS = 60.0
"""A batch takes a tenth of a second, or a few on a busy machine. A process that takes longer is considered hung."""

LARGE_FLEET = 256
"""Number of hosts from which a worker process builds the blocks, as one renders them. The process costs about 40 MB."""

_MODULE = "flyball_collector.blocks.worker"


class BlockBuilder:
    """Builds blocks. Only one thread may call it at a time."""

    def __init__(self, counts: Counts, *, large_fleet: int = LARGE_FLEET, limit_seconds: float = LIMIT_SECONDS) -> None:
        self._counts = counts
        self._large_fleet = large_fleet
        self._process = WorkerProcess(_MODULE, limit_seconds=limit_seconds)

    @property
    def pid(self) -> int | None:
        """Return the id of the worker process, or `None`."""
        return self._process.pid

    def build(self, blocks: Sequence[OpenBlock], of_all: int) -> list[Block]:
        """Build some of the `of_all` open blocks: one a host, more where hosts replay.

        If the worker process fails, this thread builds them, which is slower.
        """
        drafts = [draft(block) for block in blocks]
        if of_all >= self._large_fleet:
            try:
                return _blocks(self._process.ask(drafts))
            except WorkerLostError as error:
                self._counts.builder_failures += 1
                _log.warning("builder_process_lost", error=str(error), remedy="it restarts with the next blocks")
        return _blocks(build_all(drafts))

    def close(self) -> None:
        """End the worker process, if there is one."""
        self._process.close()


def draft(block: OpenBlock) -> BlockDraft:
    """Return the content of an open block. Raises `BlockError` if a row's width differs from its layout's."""
    groups = block.groups()
    check_columns(groups, block.layouts())
    return BlockDraft(block.key, block.ticks, groups, block.lost, block.refused, block.received_ns)


def _blocks(answer: list[Block] | BlockError) -> list[Block]:
    if isinstance(answer, BlockError):
        raise answer
    return answer
