"""Writes blocks and documents to the store in batches, in a thread. Nothing settles before a write succeeds."""

import asyncio
import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

import structlog

from flyball_collector.blocks.block import BlockKey
from flyball_collector.blocks.errors import BlockError
from flyball_collector.ingest.block_buffer import BlockBuffer, OpenBlock
from flyball_collector.ingest.block_builder import BlockBuilder
from flyball_collector.ingest.counts import Counts
from flyball_collector.store.contract import Store, StoreError, StoreUnavailable
from flyball_proto.ranges import RangeSet

log = structlog.get_logger()

_BATCH_BLOCKS = 64
_BATCH_SECONDS = 0.25
_BATCH_DOCUMENTS = 1024
_MAX_DOCUMENTS = 65536
_FIRST_DELAY_SECONDS = 0.25
_MAX_DELAY_SECONDS = 10.0
_BEFORE_BLOCKS = frozenset({"layout", "unavailable", "tenancy"})

T = TypeVar("T")


class OnStored(Protocol):
    """Called with each block that became durable."""

    def __call__(self, key: BlockKey, settled: RangeSet) -> None: ...


class BlockWriter:
    """Writes the blocks that the buffer has ready. A failed write is retried with growing delays."""

    def __init__(
        self, store: Store, buffer: BlockBuffer, counts: Counts, on_stored: OnStored, time_limit_seconds: float
    ) -> None:
        self._store = store
        self._buffer = buffer
        self._counts = counts
        self._on_stored = on_stored
        self._time_limit_seconds = time_limit_seconds
        self._builder = BlockBuilder(counts)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store-writer")
        self._definitions: dict[tuple[str, str], bytes] = {}
        self._documents: dict[tuple[str, str], bytes] = {}
        self._wake = buffer.wake
        self._closing = asyncio.Event()
        self.store_up = True

    def put_document(self, kind: str, name: str, body: bytes) -> None:
        """Write a document soon. A newer body replaces one that waits."""
        waiting = self._definitions if kind in _BEFORE_BLOCKS else self._documents
        if len(waiting) >= _MAX_DOCUMENTS and (kind, name) not in waiting:
            del waiting[next(iter(waiting))]
        waiting[kind, name] = body
        self._wake.set()

    def drop_documents(self, name: str) -> None:
        """Drop waiting documents of this name."""
        for key in [key for key in self._documents if key[1] == name]:
            del self._documents[key]

    @property
    def builder_pid(self) -> int | None:
        """Return the id of the process that builds blocks, or `None`."""
        return self._builder.pid

    @property
    def idle(self) -> bool:
        return not (self._definitions or self._documents or self._buffer.ready_blocks)

    async def run(self) -> None:
        """Write until closed, and then the rest once."""
        wait = _FIRST_DELAY_SECONDS
        while not (self._closing.is_set() and self.idle):
            await self._wait_for_work()
            if await self._round():
                wait = _FIRST_DELAY_SECONDS
                continue
            if self._closing.is_set():
                return
            await self._pause(wait * random.uniform(0.5, 1.0))  # noqa: S311  jitter, not a secret
            wait = min(_MAX_DELAY_SECONDS, 2 * wait)

    def close(self) -> None:
        """Write what is left, then end."""
        self._closing.set()
        self._wake.set()

    def shut_down(self) -> None:
        """Release the thread. A call that hangs is abandoned."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._builder.close()

    async def _wait_for_work(self) -> None:
        """Wait until there is work, and a moment longer so that it comes in batches."""
        self._wake.clear()
        while self.idle and not self._closing.is_set():
            await self._wake.wait()
            self._wake.clear()
        if self._buffer.ready_blocks < _BATCH_BLOCKS:
            await self._pause(_BATCH_SECONDS)

    async def _pause(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._closing.wait(), seconds)
        except TimeoutError:
            return

    async def _round(self) -> bool:
        """Write one batch, definitions first, because blocks refer to them."""
        return (
            await self._write_documents(self._definitions, _MAX_DOCUMENTS)
            and await self._write_blocks()
            and await self._write_documents(self._documents, _BATCH_DOCUMENTS)
        )

    async def _write_documents(self, waiting: dict[tuple[str, str], bytes], limit: int) -> bool:
        batch = list(waiting.items())[:limit]
        if not batch:
            return True
        try:
            await self._call(self._store.put_documents, [(kind, name, body) for (kind, name), body in batch])
        except StoreError as error:
            self._failed(error)
            return False
        for name, body in batch:
            if waiting.get(name) is body:
                del waiting[name]
        self._succeeded()
        return True

    async def _write_blocks(self) -> bool:
        batch = self._buffer.take(_BATCH_BLOCKS)
        if not batch:
            return True
        try:
            settled = await self._call(self._build_and_put, batch)
        except StoreUnavailable as error:
            self._put_back(batch)
            self._failed(error)
            return False
        except (StoreError, BlockError) as error:
            return await self._write_alone(batch, error)
        except BaseException:
            self._put_back(batch)
            raise
        self._succeeded()
        for block, ranges in zip(batch, settled, strict=True):
            self._settle(block, ranges)
        return True

    async def _write_alone(self, batch: Sequence[OpenBlock], error: Exception) -> bool:
        """Write each block of a failed batch alone, and give up those that the store refuses."""
        log.warning("block_batch_refused", blocks=len(batch), error=str(error))
        for index, block in enumerate(batch):
            try:
                [ranges] = await self._call(self._build_and_put, [block])
            except StoreUnavailable as unavailable:
                self._put_back(batch[index:])
                self._failed(unavailable)
                return False
            except (StoreError, BlockError) as refusal:
                await self._give_up(block, refusal)
                continue
            self._settle(block, ranges)
        self._succeeded()
        return True

    async def _give_up(self, block: OpenBlock, refusal: Exception) -> None:
        """Mark the rows of a block that the store refuses as refused, so that the agent's spool does not keep them."""
        self._counts.blocks_failed += 1
        log.error("block_refused", host=block.key.host, number=block.key.number, error=str(refusal))
        block.refuse_rows()
        try:
            [ranges] = await self._call(self._build_and_put, [block])
        except (StoreError, BlockError):
            self._buffer.done(block)
        else:
            self._settle(block, ranges)

    def _build_and_put(self, batch: Sequence[OpenBlock]) -> list[RangeSet]:
        blocks = self._builder.build(batch, of_all=self._buffer.open_blocks)
        ranges = self._store.put_blocks(blocks)
        self._counts.blocks_bytes += sum(len(block.payload) + len(block.summary) for block in blocks)
        return ranges

    async def _call(self, function: Callable[..., T], *arguments: object) -> T:
        """Call the store in its thread. A call over the time limit cannot be cancelled: it is reported and awaited."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        future = loop.run_in_executor(self._thread, function, *arguments)
        future.add_done_callback(lambda _: self._counts.write_seconds.append(loop.time() - began))
        done, _ = await asyncio.wait({future}, timeout=self._time_limit_seconds)
        if not done:
            self._failed(
                StoreUnavailable(f"the store has not answered for {self._time_limit_seconds:g} s; still waiting")
            )
        return await future

    def _settle(self, block: OpenBlock, ranges: RangeSet) -> None:
        self._buffer.done(block)
        self._counts.blocks_stored += 1
        self._on_stored(block.key, ranges)

    def _put_back(self, batch: Sequence[OpenBlock]) -> None:
        for block in batch:
            self._buffer.put_back(block)

    def _failed(self, error: Exception) -> None:
        self._counts.store_failures += 1
        if self.store_up:
            log.error("store_down", error=str(error), remedy="none needed: the agents keep their records meanwhile")
        self.store_up = False

    def _succeeded(self) -> None:
        if not self.store_up:
            log.warning("store_up_again", failures=self._counts.store_failures)
        self.store_up = True
