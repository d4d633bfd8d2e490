"""Sorts the kernel functions in which a thread sleeps by what it waits for."""

from functools import lru_cache

KINDS = ("disk", "remote", "memory", "socket", "poll", "process", "other")
"""disk: I/O of files and page faults. remote: files on another machine. memory: reclaim. socket: one socket. poll: any
of several files. process: another thread or process (locks, pipes, ends of children). other: timers, drivers, and what
is not listed."""

_PARTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("remote", ("nfs", "rpc_wait", "fuse_", "request_wait_answer", "lustre", "ptlrpc", "cl_sync", "ceph_", "cifs",
                "p9_", "afs_", "gpfs")),
    ("memory", ("reclaim", "mem_cgroup", "memcg", "congestion_wait", "shrink_", "balance_dirty", "psi_memstall")),
    (
        "disk",
        ("folio_wait", "wait_on_page", "page_lock", "folio_lock", "io_schedule", "filemap", "direct_IO", "dio_",
         "_dio", "blk_", "bio_", "submit_bio", "jbd2", "journal", "fsync", "sync_", "xfs_", "ext4_", "btrfs_",
         "swap_read", "read_swap", "wait_on_buffer", "iomap"),
    ),
    ("socket", ("sk_wait", "sk_stream_wait", "wait_woken", "tcp_", "inet_", "udp", "skb_wait", "skb_recv",
                "unix_stream", "unix_dgram", "__skb", "mptcp", "vsock")),
    ("poll", ("poll", "select", "epoll", "ep_")),
    ("process", ("futex", "pipe", "do_wait", "wait_task", "signal", "sem", "mutex", "rwsem", "eventfd", "mq_", "msg")),
)  # fmt: skip
"""The first part that a function's name contains decides. Names differ between kernels in prefixes and suffixes.

The parts were chosen from names in `/proc/PID/wchan` and from the kernel's naming of its files."""


@lru_cache(maxsize=512)
def wait_kind(function: bytes, *, uninterruptible: bool = False) -> str:
    """Return what a thread that sleeps in this function waits for.

    An uninterruptible sleep in a function that is not listed is a wait for a disk, as in the kernel's load average.
    """
    name = function.decode("ascii", "replace")
    for kind, parts in _PARTS:
        if any(part in name for part in parts):
            return kind
    return "disk" if uninterruptible else "other"
