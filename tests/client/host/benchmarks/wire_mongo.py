"""A server of MongoDB's wire protocol and keeps documents in memory: as much as the benchmark needs.

Tests use a real server as well where one is installed (`mongod`).
"""

import socketserver
import struct
import threading
import time
from collections import defaultdict
from typing import Any, Self, cast

import bson

_HEADER = struct.Struct("<iiii")
_REPLY, _QUERY, _MESSAGE = 1, 2004, 2013
_HELLO = {
    "helloOk": True, "isWritablePrimary": True, "ismaster": True, "maxBsonObjectSize": 16 * 2**20,
    "maxMessageSizeBytes": 48_000_000, "maxWriteBatchSize": 100_000, "minWireVersion": 0, "maxWireVersion": 21,
    "readOnly": False, "ok": 1.0,
}  # fmt: skip


class WireMongo(socketserver.ThreadingTCPServer):
    """The server; `with WireMongo() as server:` runs it on a free port."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False

    def __init__(self, *, refused: str = "", single_insert_seconds: float = 0.0) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.refused = refused
        self.single_insert_seconds = single_insert_seconds
        self.databases: defaultdict[str, dict[Any, dict[str, Any]]] = defaultdict(dict)
        self.commands: list[str] = []
        self.created: set[str] = set()
        self.inserted = threading.Event()
        self.dropped = threading.Event()
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        """Return the URL of the server."""
        return f"mongodb://127.0.0.1:{self.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """Run a command and return the answer."""
        name = next(iter(body))
        self.commands.append(name)
        database = body.get("$db", "")
        if name.lower() in {"hello", "ismaster"}:
            return _HELLO
        if name == self.refused:
            return {"ok": 0.0, "errmsg": f"not authorized to run {name}", "code": 13, "codeName": "Unauthorized"}
        if name.lower() == "buildinfo":
            return {"version": "7.0.99", "ok": 1.0}
        if name == "insert":
            return self._insert(database, body["documents"])
        if name == "find":
            found = self.databases[database].get(body["filter"]["_id"])
            cursor = {"id": 0, "ns": f"{database}.{body['find']}", "firstBatch": [found] if found else []}
            return {"cursor": cursor, "ok": 1.0}
        if name == "dropDatabase":
            self.databases.pop(database, None)
            self.dropped.set()
        return {"ok": 1.0}

    def _insert(self, database: str, documents: list[dict[str, Any]]) -> dict[str, Any]:
        if len(documents) == 1:
            time.sleep(self.single_insert_seconds)
        self.created.add(database)
        self.databases[database].update({each["_id"]: each for each in documents})
        self.inserted.set()
        return {"n": len(documents), "ok": 1.0}


class _Connection(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        while head := self.rfile.read(_HEADER.size):
            if len(head) < _HEADER.size:
                return
            length, request, _, code = _HEADER.unpack(head)
            body = _command(code, self.rfile.read(length - _HEADER.size))
            answer = bson.encode(cast("WireMongo", self.server).answer(body))
            try:
                self.wfile.write(_framed(code, request, answer))
            except OSError:
                return


def _framed(code: int, request: int, answer: bytes) -> bytes:
    """Return the answer to a query of the old protocol, or to a message."""
    old = code == _QUERY
    content = struct.pack("<iqii", 8, 0, 0, 1) + answer if old else struct.pack("<IB", 0, 0) + answer
    return _HEADER.pack(_HEADER.size + len(content), 0, request, _REPLY if old else _MESSAGE) + content


def _command(code: int, content: bytes) -> dict[str, Any]:
    """Return the command of a request, with the documents that follow it."""
    if code == _QUERY:
        return bson.decode(content[content.index(b"\0", 4) + 9 :])
    body: dict[str, Any] = {}
    more: dict[str, list[dict[str, Any]]] = {}
    at = 4
    while at < len(content):
        kind, size = content[at], struct.unpack_from("<i", content, at + 1)[0]
        section = content[at + 1 : at + 1 + size]
        if kind == 0:
            body = bson.decode(section)
        else:
            name, _, documents = section[4:].partition(b"\0")
            more[name.decode()] = bson.decode_all(documents)
        at += 1 + size
    return {**body, **more}
