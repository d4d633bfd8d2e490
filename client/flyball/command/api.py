"""Asks the collector over HTTP, with the standard library alone."""

import gzip
import json
import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from http.client import BadStatusLine, HTTPException, HTTPResponse
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, urlencode, urlsplit

import typer

from flyball.command.errors import CommandError, NotThere
from flyball.command.words import clean

DEFAULT_URL = "http://127.0.0.1:3591"
TIME_LIMIT_SECONDS = 10.0
DOWNLOAD_SECONDS = 60.0
MAX_ANSWER_BYTES = 64 * 1024 * 1024
MAX_DOWNLOAD_BYTES = 512 * 1024 * 1024

_COMMANDS = {
    "GET /api/v1/hosts": "flyball hosts",
    "GET /api/v1/events": "flyball events",
    "GET /api/v1/silences": "flyball silence list",
}
"""The collector's hints name its routes; whoever sits at a terminal has these."""

CollectorOption = Annotated[
    str, typer.Option("--collector", metavar="URL", envvar="FLYBALL_COLLECTOR", help="HTTP address of the collector.")
]
TokenFileOption = Annotated[
    Path | None,
    typer.Option("--token-file", envvar="FLYBALL_TOKEN_FILE", help="File that holds your token; or set FLYBALL_TOKEN."),
]
CaFileOption = Annotated[
    Path | None, typer.Option("--ca-file", envvar="FLYBALL_CA_FILE", help="Authority of the collector's certificate.")
]


class Api:
    """One collector."""

    def __init__(self, url: str, *, token: str = "", ca_file: Path | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise CommandError(f"--collector {clean(url)}: expected a URL such as {DEFAULT_URL}", 2)
        self.url = url.rstrip("/")
        self._token = token
        handlers: list[urllib.request.BaseHandler] = [_NoRedirect(), urllib.request.HTTPSHandler(context=_tls(ca_file))]
        if _is_loopback(parts.hostname):
            handlers.append(urllib.request.ProxyHandler({}))  # a proxy cannot reach our loopback
        self._opener = urllib.request.build_opener(*handlers)

    def get(self, path: str, query: Mapping[str, object] | None = None) -> Any:
        """What the collector answers, decoded."""
        return self._ask("GET", path, query)

    def download(self, path: str, query: Mapping[str, object] | None = None) -> bytes:
        """A file that the collector makes."""
        return self._fetch("GET", path, query, DOWNLOAD_SECONDS, MAX_DOWNLOAD_BYTES)

    def delete(self, path: str) -> Any:
        """Have something forgotten."""
        return self._ask("DELETE", path, None)

    def post(self, path: str, body: Mapping[str, object]) -> Any:
        """Have something made."""
        return self._ask("POST", path, None, json.dumps(body).encode())

    def _ask(self, method: str, path: str, query: Mapping[str, object] | None, body: bytes | None = None) -> Any:
        try:
            return json.loads(self._fetch(method, path, query, body=body))
        except ValueError:
            raise CommandError(f"what answers at {self.url} is not a Flyball collector; see --collector") from None

    def _fetch(
        self,
        method: str,
        path: str,
        query: Mapping[str, object] | None,
        seconds: float = TIME_LIMIT_SECONDS,
        most: int = MAX_ANSWER_BYTES,
        body: bytes | None = None,
    ) -> bytes:
        where = f"{self.url}/api/v1/{path}" + (f"?{urlencode(query, doseq=True)}" if query else "")
        headers = {"Accept": "application/json", "Accept-Encoding": "gzip", "X-Flyball-Operator": "1"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        if body is not None:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(where, body, headers, method=method)  # noqa: S310  the scheme was checked
        try:
            with self._opener.open(request, timeout=seconds) as answer:
                answered = _body(answer, most)
        except urllib.error.HTTPError as error:
            with error:
                kind = NotThere if error.code == 404 else CommandError
                raise kind(_refusal(error, self.url)) from None
        except (OSError, HTTPException) as error:  # a time-out is an OSError
            raise CommandError(_unreachable(error, self.url)) from None
        if len(answered) > most:
            raise CommandError(f"the answer of {self.url} is longer than {most // 1024**2} MiB; ask for less")
        return answered


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A token goes to the collector that was named, and nowhere else."""

    def redirect_request(self, *_: object) -> None:
        """Not followed: the answer is an error like any other."""


def api(url: str, token_file: Path | None, ca_file: Path | None) -> Api:
    """The collector that the options name."""
    return Api(url, token=_token(token_file), ca_file=ca_file)


def segment(name: str) -> str:
    """A host's name as part of a path."""
    return quote(name, safe="")


def _token(token_file: Path | None) -> str:
    if token_file is None:
        return os.environ.get("FLYBALL_TOKEN", "").strip()
    try:
        return token_file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"--token-file {token_file}: {error}") from None


def _tls(ca_file: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise CommandError(f"--ca-file {ca_file}: {error}") from None


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _body(answer: HTTPResponse | urllib.error.HTTPError, most: int = MAX_ANSWER_BYTES) -> bytes:
    """What was sent; a byte more than `most` says that there would be more."""
    body = answer.read(most + 1)
    return gzip.decompress(body) if answer.headers.get("Content-Encoding") == "gzip" else body


def _refusal(error: urllib.error.HTTPError, url: str) -> str:
    try:
        told = json.loads(_body(error))["error"]
        what, hint = clean(told["what"]), clean(told["hint"])
    except (ValueError, KeyError, TypeError, OSError):
        return f"{url} answered {error.code} {clean(error.reason)}: is that a Flyball collector? See --collector"
    if error.code == 401:
        hint = "name a file with --token-file, or set FLYBALL_TOKEN"
    for route, command in _COMMANDS.items():
        hint = f"`{command}` lists them" if hint.startswith(route) else hint
    return f"{what}; {hint}" if hint else what


def _unreachable(error: Exception, url: str) -> str:
    if isinstance(error, BadStatusLine) and not isinstance(error, OSError):
        return f"what answers at {url} does not speak HTTP; if that is the agents' port, see --collector"
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, ssl.SSLError):
        return f"{url}: {clean(reason)}; with a private authority, name it with --ca-file"
    said = clean(reason) if str(reason) else type(reason).__name__
    return (
        f"no collector answers at {url} ({said}); start one with `flyball up`, "
        "see `systemctl status flyball-collector`, or name another with --collector URL"
    )
