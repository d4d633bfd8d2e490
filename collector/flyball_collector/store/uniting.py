"""A block meets the one that is stored under its key."""

import structlog

from flyball_collector.blocks.block import Block
from flyball_collector.blocks.errors import BlockError
from flyball_collector.blocks.unite import unite
from flyball_collector.store.contract import StoreError

_log = structlog.get_logger()


def unite_with_stored(stored: Block, block: Block) -> Block:
    """A stored block that cannot be read any more is replaced: its host must not be stuck behind it for ever."""
    if stored.ticks != block.ticks:
        raise StoreError(
            f"block {block.key.number} of {block.key.host} comes with {block.ticks} ticks, {stored.ticks} are stored: "
            "an epoch has one interval; the agent must begin a new epoch"
        )
    try:
        return unite(stored, block)
    except BlockError as error:
        _log.error("stored_block_damaged", host=block.key.host, number=block.key.number, reason=str(error))
        return block
