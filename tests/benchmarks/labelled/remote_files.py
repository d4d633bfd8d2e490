"""A file system over the network: each read of a file asks the data server, over the wire, for its bytes.

The kernel's part is FUSE; this is a server for it with one file, `data.bin`.
`python -m tests.benchmarks.labelled.remote_files FOLDER HOST PORT BYTES` mounts it, prints a line, and serves until it
is unmounted.
"""

import ctypes
import os
import socket
import stat
import struct
import sys
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks.labelled.plan import REQUEST

FILE = "data.bin"
_FILE_NODE = 2
_MAX_READ = 128 * 1024
_MAX_REQUEST = _MAX_READ + 4096

# include/uapi/linux/fuse.h, version 7.31
_IN = struct.Struct("<IIQQIIII")  # length, opcode, unique, node, uid, gid, pid, padding
_OUT = struct.Struct("<IiQ")  # length, error, unique
_ATTRIBUTES = struct.Struct("<QQQQQQIIIIIIIIII")
_READ = struct.Struct("<QQI")
_FORGET, _BATCH_FORGET = 2, 42
_NO_ANSWER = frozenset({_FORGET, _BATCH_FORGET})
_DIRECT_IO = 1
_SECONDS_VALID = 3600
_MNT_DETACH = 2

_libc = ctypes.CDLL(None, use_errno=True)


class RemoteFile:
    """Reads stretches of a file that lies on the data server."""

    def __init__(self, host: str, port: int) -> None:
        self._connection = socket.create_connection((host, port), 30)
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def read(self, count: int) -> bytes:
        """Return so many bytes; the server chooses which."""
        self._connection.sendall(REQUEST.pack(count))
        found = bytearray()
        while len(found) < count:
            piece = self._connection.recv(count - len(found))
            if not piece:
                raise ConnectionError("the data server is gone")
            found += piece
        return bytes(found)


class FileServer:
    """Answers the kernel's requests, one after the other."""

    def __init__(self, size: int, read: Callable[[int], bytes]) -> None:
        self._size, self._read = size, read

    def answer(self, request: bytes) -> bytes | None:
        """Return the answer to a request; None where the kernel expects none."""
        _, code, unique, node, *_ = _IN.unpack_from(request)
        if code in _NO_ANSWER:
            return None
        try:
            body, error = self._body(code, node, request[_IN.size :]), 0
        except OSError as failed:
            body, error = b"", -(failed.errno or 5)
        return _OUT.pack(_OUT.size + len(body), error, unique) + body

    def _body(self, code: int, node: int, payload: bytes) -> bytes:
        match code:
            case 26:  # INIT: our version, no background requests, 64 KiB of read-ahead
                return struct.pack("<IIIIHHIIHHI28x", 7, 31, 65536, 0, 12, 9, _MAX_READ, 1, 0, 0, 0)
            case 1:  # LOOKUP
                if payload.rstrip(b"\0") != FILE.encode():
                    raise FileNotFoundError(2, "no such file")
                return struct.pack("<QQQQII", _FILE_NODE, 0, _SECONDS_VALID, _SECONDS_VALID, 0, 0) + self._about(2)
            case 3:  # GETATTR
                return struct.pack("<QII", _SECONDS_VALID, 0, 0) + self._about(node)
            case 14:  # OPEN: nothing is cached
                return struct.pack("<QII", 0, _DIRECT_IO, 0)
            case 27:  # OPENDIR
                return struct.pack("<QII", 0, 0, 0)
            case 15:  # READ
                _, offset, count = _READ.unpack_from(payload)
                return self._read(max(0, min(count, self._size - offset)))
            case 17:  # STATFS
                return struct.pack("<QQQQQIIII24x", self._size // 4096, 0, 0, 1, 0, 4096, 255, 4096, 0)
            case 18 | 25 | 29 | 34:  # RELEASE, FLUSH, RELEASEDIR, ACCESS
                return b""
            case _:
                raise OSError(38, "not implemented")

    def _about(self, node: int) -> bytes:
        is_file = node == _FILE_NODE
        mode = (stat.S_IFREG | 0o444) if is_file else (stat.S_IFDIR | 0o555)
        size = self._size if is_file else 0
        return _ATTRIBUTES.pack(node, size, size // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def mount(folder: Path) -> int:
    """Mount a FUSE file system and return the device that requests come from. Raises OSError."""
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
    if _libc.mount(b"flyball-labelled", os.fsencode(folder), b"fuse", 0, options.encode()) != 0:
        os.close(device)
        raise OSError(ctypes.get_errno(), f"cannot mount {folder}")
    return device


def unmount(folder: Path) -> None:
    """Unmount it, whether its server still runs or not."""
    _libc.umount2(os.fsencode(folder), _MNT_DETACH)


def can_mount(folder: Path) -> bool:
    """Return True if this process may mount FUSE file systems."""
    folder.mkdir(exist_ok=True)
    try:
        device = mount(folder)
    except OSError:
        return False
    unmount(folder)
    os.close(device)
    return True


def serve(folder: Path, server: FileServer) -> None:
    """Mount, print a line, and serve until it is unmounted."""
    device = mount(folder)
    print("ready", flush=True)
    while True:
        try:
            request = os.read(device, _MAX_REQUEST)
        except InterruptedError:
            continue
        except OSError:  # unmounted
            return
        if (answer := server.answer(request)) is not None:
            os.write(device, answer)


if __name__ == "__main__":
    serve(Path(sys.argv[1]), FileServer(int(sys.argv[4]), RemoteFile(sys.argv[2], int(sys.argv[3])).read))
