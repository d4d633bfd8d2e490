"""The plan of a training loop: the size of its model, the source of its batches, the service it calls."""

import struct
from typing import Literal

import msgspec

SourceKind = Literal["memory", "file", "mapped", "anonymous", "remote", "resolver", "small_files", "python", "locked"]

Reports = Literal["client", "hooks", "none"]
"""How a training reports: with the client in its code, by `flyball run -- COMMAND` alone, or not at all."""

REQUEST = struct.Struct("!I")
"""What the data server is asked: so many bytes."""


class SourcePlan(msgspec.Struct, frozen=True):
    """The source of batches.

    file: `amount` bytes by positioned reads, past the page cache while it is `cold`. mapped: `amount` random pages of
    a mapped file of `size` bytes. anonymous: the same of memory that no file backs. remote: `amount` bytes from the
    data server. resolver: as from memory, after `amount` look-ups of a name. small_files: `amount` whole files, dropped
    from the page cache while it is `cold`. python: as from memory, after `amount` steps of the interpreter while it is
    `cold`. locked: as from memory, after `amount` milliseconds during which all workers wait for each other while it is
    `cold`.
    """

    kind: SourceKind
    amount: int = 0
    size: int = 0
    cold: bool = False
    scattered: bool = False  # the kernel is not to read ahead
    folder: str = ""  # of the file, below the plan's folder


class LoopPlan(msgspec.Struct, frozen=True):
    """One training run."""

    run: str
    socket: str  # of the agent
    trace: str
    folder: str  # of data sets and checkpoints
    seed: int = 0
    batch: int = 256
    features: int = 512
    hidden: int = 512
    threads: int = 1  # of the matrix library
    sources: tuple[SourcePlan, ...] = (SourcePlan("memory"),)
    workers: int = 0  # processes that load; 0: the loop loads
    loader_threads: int = 0  # threads that load, instead of processes
    prefetch: int = 2  # batches a worker may be ahead
    calls: int = 0  # to the service, one after the other, each step
    host: str = "127.0.0.1"  # of data server and service
    data_port: int = 0
    service_port: int = 0
    resolver_port: int = 0
    checkpoint_steps: int = 0  # every so many; 0: never
    checkpoint_bytes: int = 0
    reports: Reports = "client"


class Change(msgspec.Struct, frozen=True):
    """An order to a running loop; what is left out stays."""

    calls: int | None = None
    cold: bool | None = None
    checkpoint_steps: int | None = None
    end: bool = False
