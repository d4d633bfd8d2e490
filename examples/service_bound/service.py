"""A slow HTTP service for a training.

Each request costs a round trip, and each item a look-up in a database with a limited number of connections. A cache
saves look-ups. The program prints its port and serves until its standard input ends.
"""

import argparse
import json
import sys
import threading
import time
from collections import OrderedDict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

REQUEST_SECONDS = 0.008  # network and handling of one request of any size
LOOKUP_SECONDS = 0.0012  # database, for one item that is not in the cache
HANDSHAKE_SECONDS = 0.001  # TLS and login of a new connection


class Database:
    """A database with slow look-ups and a limited number of connections."""

    def __init__(self, connections: int, cached: int) -> None:
        self._free = threading.BoundedSemaphore(connections)
        self._cached = cached
        self._cache: OrderedDict[int, int] = OrderedDict()
        self._lock = threading.Lock()

    def look_up(self, items: list[int]) -> list[int]:
        """Return the value of each item."""
        with self._lock:
            missing = [item for item in items if item not in self._cache]
        with self._free:
            time.sleep(LOOKUP_SECONDS * len(missing))
        with self._lock:
            for item in items if self._cached else ():
                self._cache[item] = item * item
                self._cache.move_to_end(item)
            while len(self._cache) > self._cached:
                self._cache.popitem(last=False)
        return [item * item for item in items]


class Handler(BaseHTTPRequestHandler):
    """`POST /items` with a list of numbers."""

    protocol_version = "HTTP/1.1"  # connections can stay open
    disable_nagle_algorithm = True
    database: Database

    def setup(self) -> None:
        time.sleep(HANDSHAKE_SECONDS)
        super().setup()

    def do_POST(self) -> None:
        items = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        time.sleep(REQUEST_SECONDS)
        body = json.dumps(self.database.look_up(items)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name of the library
        """Do not log requests."""


class Server(ThreadingHTTPServer):
    """A server for many clients at once."""

    request_queue_size = 128
    daemon_threads = True


def main() -> None:
    """Serve on a free port of loopback."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, default=4, help="database connections")
    parser.add_argument("--cached", type=int, default=0, help="size of the cache in items")
    options = parser.parse_args()
    Handler.database = Database(options.connections, options.cached)
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()
    server.shutdown()


if __name__ == "__main__":
    main()
