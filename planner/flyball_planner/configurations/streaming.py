"""Streaming of data: the required rate, and the caches and workers that suit a kind of disk."""

import math
from enum import StrEnum

from msgspec import Struct

TOKEN_BYTES = 2.0  # token ids of vocabularies up to 65,536
RESERVE = 2.0  # factor on the mean rate so that no step waits
MIB, GIB = 1024.0**2, 1024.0**3
WORKER_TOKENS_PER_SECOND = 1e6
"""Cautious assumption for a process that slices packed token ids; tokenising on the fly is slower."""


class Disk(StrEnum):
    """The kinds of disks that data are stored on."""

    NVME = "nvme"
    SSD = "ssd"
    HDD = "hdd"
    NETWORK = "network"


class DiskHabits(Struct, frozen=True):
    """The rates of a kind of disk in the worst usual case, and how to read it best."""

    bytes_per_second: float  # sequential
    random_reads_per_second: float
    shard_bytes: float
    cache_share: float  # share of the free host memory
    cache_most_bytes: float


HABITS = {
    # Sequential rates: the slowest current drive of each kind (PCIe 3.0 x4; SATA III; 7,200 rpm; 10 Gbit/s).
    # Random reads of 4 KiB: 1 / (9 ms seek and half a rotation) for a disk, otherwise vendors' figures at low queue
    # depth.
    Disk.NVME: DiskHabits(3.5e9, 50_000, 64 * MIB, 0.10, 8 * GIB),
    Disk.SSD: DiskHabits(0.5e9, 10_000, 256 * MIB, 0.25, 16 * GIB),
    Disk.HDD: DiskHabits(0.15e9, 110, 1 * GIB, 0.50, 64 * GIB),
    Disk.NETWORK: DiskHabits(1.1e9, 1_000, 256 * MIB, 0.50, 64 * GIB),
}


class Streaming(Struct, frozen=True):
    """The settings for reading the data."""

    disk: Disk
    needed_bytes_per_second: float
    held_share: float  # share of the disk's rate
    workers: int
    prefetch: int  # batches per worker
    shard_bytes: float
    cache_bytes: float
    notes: tuple[str, ...]


def streaming(
    tokens_per_second: float, disk: Disk, free_host_bytes: float, cores: int, token_bytes: float = TOKEN_BYTES
) -> Streaming:
    """Return the settings for a training of this speed on one host."""
    habits = HABITS[disk]
    needed = tokens_per_second * token_bytes
    share = needed * RESERVE / habits.bytes_per_second
    workers = min(max(1, math.ceil(RESERVE * tokens_per_second / WORKER_TOKENS_PER_SECOND)), max(1, cores - 1))
    return Streaming(
        disk=disk,
        needed_bytes_per_second=needed,
        held_share=share,
        workers=workers,
        prefetch=4 if disk in {Disk.HDD, Disk.NETWORK} else 2,
        shard_bytes=habits.shard_bytes,
        cache_bytes=min(habits.cache_share * free_host_bytes, habits.cache_most_bytes),
        notes=_notes(disk, share),
    )


def _notes(disk: Disk, share: float) -> tuple[str, ...]:
    notes = []
    if share > 1:
        notes.append("this disk is too slow for the run: copy the data to a faster one or into memory")
    if disk is Disk.HDD:
        notes.append("shuffle shards and within a buffer, not single samples: each seek costs 9 ms")
    if disk is Disk.NETWORK:
        notes.append("read complete shards in advance, to pay the round trip only once")
    return tuple(notes)
