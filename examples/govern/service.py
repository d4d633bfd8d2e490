"""A service that learns patterns for a training, with real delays: each call costs the same, however much it carries.

    python -m examples.govern.service

It prints its port and serves until its standard input ends.
"""

import json
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CALL_SECONDS = 0.005  # network and handling of one call of any size
CONNECT_SECONDS = 0.002  # TLS and login of a new connection
PATTERN_SECONDS = 0.00025  # for each pattern


class Patterns:
    """Counts how often each pattern of each level was seen."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: Counter[str] = Counter()

    def learn(self, level: str, patterns: list[str]) -> int:
        """Count patterns. Return how many were new."""
        names = [f"{level}/{pattern}" for pattern in patterns]
        with self._lock:
            new = sum(name not in self._seen for name in set(names))
            self._seen.update(names)
        return new

    def all(self) -> dict[str, int]:
        """Return the counts."""
        with self._lock:
            return dict(self._seen)


class LearnHandler(BaseHTTPRequestHandler):
    """`POST /learn/LEVEL` with a list of patterns; `GET /patterns`."""

    protocol_version = "HTTP/1.1"  # connections can stay open
    disable_nagle_algorithm = True
    patterns = Patterns()

    def setup(self) -> None:
        time.sleep(CONNECT_SECONDS)
        super().setup()

    def do_POST(self) -> None:
        patterns = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        time.sleep(CALL_SECONDS + PATTERN_SECONDS * len(patterns))
        self._answer(self.patterns.learn(self.path.rpartition("/")[2], patterns))

    def do_GET(self) -> None:
        self._answer(self.patterns.all())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name of the library
        """Do not log requests."""

    def _answer(self, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class PatternServer(ThreadingHTTPServer):
    """A server for many clients at once."""

    request_queue_size = 128
    daemon_threads = True


def main() -> None:
    """Serve on a free port of loopback."""
    server = PatternServer(("127.0.0.1", 0), LearnHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()
    server.shutdown()


if __name__ == "__main__":
    main()
