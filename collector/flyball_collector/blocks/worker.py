"""The process that builds a large fleet's blocks; started by `ingest.builder` alone."""

from collections.abc import Sequence
from typing import NamedTuple

from flyball_collector.blocks.block import Block, BlockKey, RowGroup
from flyball_collector.blocks.build import assemble
from flyball_collector.blocks.errors import BlockError
from flyball_collector.worker_process import serve
from flyball_proto.ranges import RangeSet


class Draft(NamedTuple):
    """All that a block is made of; its rows are checked."""

    key: BlockKey
    ticks: int
    groups: Sequence[RowGroup]
    lost: RangeSet
    refused: RangeSet
    received_ns: int


def built(drafts: Sequence[Draft]) -> list[Block] | BlockError:
    """The blocks, or why one of them cannot be."""
    try:
        return [assemble(*draft) for draft in drafts]
    except BlockError as error:
        return error


if __name__ == "__main__":
    serve(built)
