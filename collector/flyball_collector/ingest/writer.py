"""The writer: blocks and documents to the store, in batches, in a thread; until that succeeds, nothing is settled."""

import asyncio
import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

import structlog

from flyball_collector.blocks.block import BlockKey
from flyball_collector.blocks.errors import BlockError
from flyball_collector.ingest.builder import Builder
from flyball_collector.ingest.counts import Counts
from flyball_collector.ingest.gather import Gatherer, OpenBlock
from flyball_collector.store.contract import Store, StoreError, StoreUnavailable
from flyball_proto.ranges import RangeSet

log = structlog.get_logger()

_BATCH_BLOCKS = 64
_BATCH_SECONDS = 0.25
_BATCH_DOCUMENTS = 1024
_MAX_DOCUMENTS = 65536
_FIRST_WAIT_SECONDS = 0.25
_LONGEST_WAIT_SECONDS = 10.0
_BEFORE_BLOCKS = frozenset({"layout", "unavailable", "tenancy"})

T = TypeVar("T")


class Stored(Protocol):
    """Told what became durable."""

    def __call__(self, key: BlockKey, settled: RangeSet) -> None: ...


class BlockWriter:
    """Takes what the gatherer has ready; a store that fails is tried again, ever more patiently."""

    def __init__(
        self, store: Store, gatherer: Gatherer, counts: Counts, stored: Stored, time_limit_seconds: float
    ) -> None:
        self._store = store
        self._gatherer = gatherer
        self._counts = counts
        self._stored = stored
        self._time_limit_seconds = time_limit_seconds
        self._builder = Builder(counts)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store-writer")
        self._definitions: dict[tuple[str, str], bytes] = {}
        self._documents: dict[tuple[str, str], bytes] = {}
        self._wake = gatherer.wake
        self._closing = asyncio.Event()
        self.store_up = True

    def put_document(self, kind: str, name: str, body: bytes) -> None:
        """Write a document soon; a newer body replaces one that waits."""
        waiting = self._definitions if kind in _BEFORE_BLOCKS else self._documents
        if len(waiting) >= _MAX_DOCUMENTS and (kind, name) not in waiting:
            del waiting[next(iter(waiting))]
        waiting[kind, name] = body
        self._wake.set()

    def drop_documents(self, name: str) -> None:
        """What waits under this name is not wanted any more."""
        for key in [key for key in self._documents if key[1] == name]:
            del self._documents[key]

    @property
    def builder_pid(self) -> int | None:
        """Of the process that builds blocks, while there is one."""
        return self._builder.pid

    @property
    def idle(self) -> bool:
        return not (self._definitions or self._documents or self._gatherer.ready_blocks)

    async def run(self) -> None:
        """Write until told to stop, and then what is left, once."""
        wait = _FIRST_WAIT_SECONDS
        while not (self._closing.is_set() and self.idle):
            await self._work()
            if await self._round():
                wait = _FIRST_WAIT_SECONDS
                continue
            if self._closing.is_set():
                return
            await self._pause(wait * random.uniform(0.5, 1.0))  # noqa: S311  jitter, not a secret
            wait = min(_LONGEST_WAIT_SECONDS, 2 * wait)

    def close(self) -> None:
        """Write what waits, then end."""
        self._closing.set()
        self._wake.set()

    def shut_down(self) -> None:
        """Let go of the thread; a call that hangs is left behind."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._builder.close()

    async def _work(self) -> None:
        """Wait until there is something to do, and a moment longer, so that it comes in batches."""
        self._wake.clear()
        while self.idle and not self._closing.is_set():
            await self._wake.wait()
            self._wake.clear()
        if self._gatherer.ready_blocks < _BATCH_BLOCKS:
            await self._pause(_BATCH_SECONDS)

    async def _pause(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._closing.wait(), seconds)
        except TimeoutError:
            return

    async def _round(self) -> bool:
        """One batch: definitions first, for blocks refer to them."""
        return (
            await self._write_documents(self._definitions, _MAX_DOCUMENTS)
            and await self._write_blocks()
            and await self._write_documents(self._documents, _BATCH_DOCUMENTS)
        )

    async def _write_documents(self, waiting: dict[tuple[str, str], bytes], most: int) -> bool:
        batch = list(waiting.items())[:most]
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
        taken = self._gatherer.take(_BATCH_BLOCKS)
        if not taken:
            return True
        try:
            settled = await self._call(self._build_and_put, taken)
        except StoreUnavailable as error:
            self._give_back(taken)
            self._failed(error)
            return False
        except (StoreError, BlockError) as error:
            return await self._write_alone(taken, error)
        except BaseException:
            self._give_back(taken)
            raise
        self._succeeded()
        for block, ranges in zip(taken, settled, strict=True):
            self._settle(block, ranges)
        return True

    async def _write_alone(self, taken: Sequence[OpenBlock], error: Exception) -> bool:
        """One block of a batch is poison: write each by itself, and give up those that the store will not have."""
        log.warning("block_batch_refused", blocks=len(taken), error=str(error))
        for index, block in enumerate(taken):
            try:
                [ranges] = await self._call(self._build_and_put, [block])
            except StoreUnavailable as unavailable:
                self._give_back(taken[index:])
                self._failed(unavailable)
                return False
            except (StoreError, BlockError) as refusal:
                await self._give_up(block, refusal)
                continue
            self._settle(block, ranges)
        self._succeeded()
        return True

    async def _give_up(self, block: OpenBlock, refusal: Exception) -> None:
        """The store will never have these rows: refuse them, so that the agent's spool does not wait for ever."""
        self._counts.blocks_failed += 1
        log.error("block_refused", host=block.key.host, number=block.key.number, error=str(refusal))
        block.refuse_rows()
        try:
            [ranges] = await self._call(self._build_and_put, [block])
        except (StoreError, BlockError):
            self._gatherer.done(block)
        else:
            self._settle(block, ranges)

    def _build_and_put(self, taken: Sequence[OpenBlock]) -> list[RangeSet]:
        blocks = self._builder.build(taken, of_all=self._gatherer.open_blocks)
        ranges = self._store.put_blocks(blocks)
        self._counts.blocks_bytes += sum(len(block.payload) + len(block.summary) for block in blocks)
        return ranges

    async def _call(self, function: Callable[..., T], *arguments: object) -> T:
        """Call the store in its thread. One that takes too long cannot be broken off: it is told, and awaited."""
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
        self._gatherer.done(block)
        self._counts.blocks_stored += 1
        self._stored(block.key, ranges)

    def _give_back(self, taken: Sequence[OpenBlock]) -> None:
        for block in taken:
            self._gatherer.give_back(block)

    def _failed(self, error: Exception) -> None:
        self._counts.store_failures += 1
        if self.store_up:
            log.error("store_down", error=str(error), remedy="agents keep their records until it is back")
        self.store_up = False

    def _succeeded(self) -> None:
        if not self.store_up:
            log.warning("store_up_again", failures=self._counts.store_failures)
        self.store_up = True
