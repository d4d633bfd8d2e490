"""Run a receiver of notifications in a separate process: it saves what it accepts and answers as a test configures.

`python -m tests.receiver PORT FOLDER` appends each accepted POST as a line to FOLDER/posts. If FOLDER/answer exists, it
holds the answer: a status instead of 200, `hang`, `drip`, or `refuse TEXT` to refuse bodies that contain the text.
"""

import base64
import contextlib
import json
import sys
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.processes import Process, free_port, wait_for


class Receiver(Process):
    """The receiver as a test sees it: start, stop, choose its answer, read its posts."""

    def __init__(self, folder: Path, port: int | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.port = port or free_port()
        super().__init__([sys.executable, "-m", "tests.receiver", str(self.port), str(folder)], folder / "log")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answer(self, answer: str) -> None:
        """Set the answer from now on: a status, `hang`, `drip`, or `refuse TEXT`."""
        fresh = self.folder / "answer.new"
        fresh.write_text(answer)
        fresh.replace(self.folder / "answer")

    def start_listening(self) -> "Receiver":
        self.start()
        wait_for("the receiver listens", (self.folder / "listening").exists)
        return self

    def stop_listening(self) -> None:
        self.kill()
        (self.folder / "listening").unlink()

    def posts(self) -> list["Post"]:
        """Return the accepted posts in order."""
        try:
            lines = (self.folder / "posts").read_text().split("\n")[:-1]  # the last one may be half written
        except FileNotFoundError:
            return []
        return [Post(**json.loads(line)) for line in lines]


class Post:
    """One POST that was answered with 200."""

    def __init__(self, path: str, headers: Mapping[str, str], body: str) -> None:
        self.path = path
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.body = base64.b64decode(body)

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class _Handler(BaseHTTPRequestHandler):
    folder: Path

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            answer = (self.folder / "answer").read_text().strip() or "200"
        except FileNotFoundError:
            answer = "200"
        if answer == "hang":
            time.sleep(60)
        if answer == "drip":
            self._drip()
            return
        if answer.startswith("refuse ") and answer.removeprefix("refuse ").encode() in body:
            answer = "400"
        status = int(answer) if answer.isdigit() else 200
        if status == 200:
            post = {"path": self.path, "headers": dict(self.headers), "body": base64.b64encode(body).decode()}
            with (self.folder / "posts").open("ab", buffering=0) as posts:  # one write: others write at the same time
                posts.write(json.dumps(post).encode() + b"\n")
        self.send_response(status)
        self.send_header("Location", "http://127.0.0.1:1/")
        self.end_headers()
        self.wfile.write(b"text\x1b[31m")

    def _drip(self) -> None:
        self.wfile.write(b"HTTP/1.0 200 OK\r\n")
        with contextlib.suppress(OSError):
            for number in range(600):
                self.wfile.write(b"X-%d: y\r\n" % number)
                time.sleep(0.1)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def main(port: int, folder: Path) -> None:
    _Handler.folder = folder
    server = ThreadingHTTPServer(("127.0.0.1", port), _Handler)
    (folder / "listening").touch()
    server.serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
