"""A slow HTTP service, as trainings call them.

Every request costs a round trip and handling, every item a look-up in a database that only so many may ask at once;
a cache saves look-ups. Prints its port and serves until its input ends.
"""

import argparse
import json
import sys
import threading
import time
from collections import OrderedDict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

REQUEST_SECONDS = 0.008  # network and handling of one request, however little it carries
LOOKUP_SECONDS = 0.0012  # the database, for one item that is not cached
HANDSHAKE_SECONDS = 0.001  # TLS and log-in of a new connection


class Database:
    """Look-ups take time, and only so many connections may be in use at once."""

    def __init__(self, connections: int, cached: int) -> None:
        self._free = threading.BoundedSemaphore(connections)
        self._cached = cached
        self._cache: OrderedDict[int, int] = OrderedDict()
        self._lock = threading.Lock()

    def look_up(self, items: list[int]) -> list[int]:
        """An answer for each item."""
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

    protocol_version = "HTTP/1.1"  # connections stay open if the caller wants it
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

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name is the library's
        """Say nothing of each request."""


class Server(ThreadingHTTPServer):
    """Takes many callers at once."""

    request_queue_size = 128
    daemon_threads = True


def main() -> None:
    """Serve on a free port of loopback."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, default=4, help="database connections")
    parser.add_argument("--cached", type=int, default=0, help="items that the cache holds")
    options = parser.parse_args()
    Handler.database = Database(options.connections, options.cached)
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()
    server.shutdown()


if __name__ == "__main__":
    main()
