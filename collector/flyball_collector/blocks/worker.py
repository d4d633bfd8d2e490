"""The process that builds the blocks of a large fleet. Only `ingest.block_builder` starts it."""

from collections.abc import Sequence
from typing import NamedTuple

from flyball_collector.blocks.assembly import assemble
from flyball_collector.blocks.block import Block, BlockKey, RowGroup
from flyball_collector.blocks.errors import BlockError
from flyball_collector.worker_process import serve
from flyball_proto.ranges import RangeSet


class BlockDraft(NamedTuple):
    """The content of a block, with checked rows."""

    key: BlockKey
    ticks: int
    groups: Sequence[RowGroup]
    lost: RangeSet
    refused: RangeSet
    received_ns: int


def build_all(drafts: Sequence[BlockDraft]) -> list[Block] | BlockError:
    """Return the blocks, or the error of one of them."""
    try:
        return [assemble(*draft) for draft in drafts]
    except BlockError as error:
        return error


if __name__ == "__main__":
    serve(build_all)
