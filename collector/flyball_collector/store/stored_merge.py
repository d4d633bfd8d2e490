"""Merges a block with the stored one of the same key."""

import structlog

from flyball_collector.blocks.block import Block
from flyball_collector.blocks.block_merge import merge_blocks
from flyball_collector.blocks.errors import BlockError
from flyball_collector.store.contract import StoreError

_log = structlog.get_logger()


def merge_with_stored(stored: Block, block: Block) -> Block:
    """Merge two blocks. An unreadable stored block is replaced, so that its host can continue."""
    if stored.ticks != block.ticks:
        raise StoreError(
            f"block {block.key.number} of {block.key.host} has {block.ticks} ticks, the stored one {stored.ticks}: "
            "the interval of an epoch cannot change; the agent must begin a new epoch"
        )
    try:
        return merge_blocks(stored, block)
    except BlockError as error:
        _log.error("stored_block_damaged", host=block.key.host, number=block.key.number, reason=str(error))
        return block
