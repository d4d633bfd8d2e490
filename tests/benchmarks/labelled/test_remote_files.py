"""Files over the network: the kernel asks a FUSE server, and that asks the data server for every byte."""

import asyncio
import os
import struct
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.benchmarks.labelled.control_group import disk_of
from tests.benchmarks.labelled.remote_files import FILE, FileServer, can_mount, unmount
from tests.benchmarks.labelled.surroundings import Surroundings
from tests.benchmarks.labelled.wire import enter_namespace

HEADER = struct.Struct("<IIQQIIII")
ANSWER = struct.Struct("<IiQ")


def asked(server: FileServer, code: int, payload: bytes = b"", node: int = 2) -> tuple[int, bytes]:
    """Return the error and the body of an answer."""
    answer = server.answer(HEADER.pack(HEADER.size + len(payload), code, 77, node, 0, 0, 0, 0) + payload)
    assert answer is not None
    length, error, unique = ANSWER.unpack_from(answer)
    assert (length, unique) == (len(answer), 77)
    return error, answer[ANSWER.size :]


def test_the_server_answers_as_the_kernel_expects() -> None:
    """One file of the given size; reads end with it; what is unknown has an error number."""
    server = FileServer(10_000, bytes)
    assert asked(server, 1, FILE.encode() + b"\0", node=1)[0] == 0
    assert asked(server, 1, b"other\0", node=1)[0] == -2
    assert asked(server, 15, struct.pack("<QQI20x", 0, 8000, 4096)) == (0, bytes(2000))
    assert asked(server, 15, struct.pack("<QQI20x", 0, 20_000, 4096)) == (0, b"")
    assert asked(server, 9999)[0] == -38
    assert server.answer(HEADER.pack(HEADER.size, 2, 1, 2, 0, 0, 0, 0)) is None


def test_the_file_can_be_read_through_the_kernel(tmp_path: Path) -> None:
    """In mounts of its own, which end with the thread; its bytes are the data server's."""
    found: list[object] = []

    async def read() -> None:
        surroundings = Surroundings()
        ports = await surroundings.start()
        arguments = (str(tmp_path), ports.host, str(ports.data), str(2**20))
        program = (sys.executable, "-m", "tests.benchmarks.labelled.remote_files", *arguments)
        server = await asyncio.create_subprocess_exec(*program, stdout=subprocess.PIPE)
        assert server.stdout is not None
        try:
            assert await asyncio.wait_for(server.stdout.readline(), 30) == b"ready\n"
            file = await asyncio.to_thread(os.open, tmp_path / FILE, os.O_RDONLY)
            found.append(await asyncio.to_thread(os.pread, file, 300_000, 1000))
            os.close(file)
        finally:
            unmount(tmp_path)
            await asyncio.wait_for(server.wait(), 30)
            await surroundings.stop()

    def run() -> None:
        found.append(enter_namespace() and can_mount(tmp_path))
        if found[0]:
            asyncio.run(read())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    if found[:1] != [True]:
        pytest.skip("FUSE needs root and /dev/fuse")
    assert isinstance(found[1], bytes)
    assert len(found[1]) == 300_000


def test_a_folder_is_on_a_disk(tmp_path: Path) -> None:
    """Limits of the kernel name the disk, not its partition."""
    number = disk_of(tmp_path)
    major, minor = map(int, number.split(":"))
    assert major >= 0
    assert minor >= 0
    assert not (Path("/sys/dev/block") / number / "partition").exists()
