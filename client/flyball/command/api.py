"""The collector's HTTP API, with the standard library alone."""

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

from flyball.command.errors import CommandError, NotFound, WrongArgument
from flyball.command.printable import printable

DEFAULT_URL = "http://127.0.0.1:3591"
TIME_LIMIT_SECONDS = 10.0
DOWNLOAD_SECONDS = 60.0
MAX_ANSWER_BYTES = 64 * 1024 * 1024
MAX_DOWNLOAD_BYTES = 512 * 1024 * 1024

_TLS_HINT = b"this port speaks TLS"  # how a collector answers plain HTTP on its TLS port
_HINTS = {
    "GET /api/v1/hosts": "`flyball hosts` lists them",
    "GET /api/v1/events": "`flyball events` lists them",
    "GET /api/v1/silences": "`flyball silence list` lists them",
    "GET /api/v1/kinds": "docs/kinds.md lists them",
    "GET /api/v1/runs": "`flyball runs` lists them",
    "GET /api/v1/captures": "`flyball capture --list` lists them",
    "GET /api/v1/adjustments": "`flyball adjust list` lists them",
    "GET /api/v1/values": "`flyball adjust values RUN` lists them",
    "GET /openapi.json": "--help shows valid values",
}
"""What to do on the command line instead of using the routes that the collector's hints name."""

CollectorOption = Annotated[
    str, typer.Option("--collector", metavar="URL", envvar="FLYBALL_COLLECTOR", help="HTTP address of the collector.")
]
TokenFileOption = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        envvar="FLYBALL_TOKEN_FILE",
        help="File with your access token; or set FLYBALL_TOKEN.",
    ),
]
CaFileOption = Annotated[
    Path | None,
    typer.Option(
        "--ca-file",
        metavar="FILE",
        envvar="FLYBALL_CA_FILE",
        help="Certificate authority of the collector, such as ca.crt.",
    ),
]


class Api:
    """The API of one collector."""

    def __init__(self, url: str, *, token: str = "", ca_file: Path | None = None) -> None:
        try:
            parts = urlsplit(url)
            host, _ = parts.hostname, parts.port
        except ValueError:  # a port that is not a number
            host = None
        if not host or parts.scheme not in {"http", "https"}:
            raise WrongArgument(f"--collector {printable(url)}: expected a URL such as {DEFAULT_URL}")
        self.url = url.rstrip("/")
        self._token = token
        handlers: list[urllib.request.BaseHandler] = [
            _NoRedirect(),
            urllib.request.HTTPSHandler(context=_tls_context(ca_file)),
        ]
        if _is_loopback(host):
            handlers.append(urllib.request.ProxyHandler({}))  # a proxy cannot reach our loopback
        self._opener = urllib.request.build_opener(*handlers)

    def get(self, path: str, query: Mapping[str, object] | None = None) -> Any:
        """Return the decoded answer to a GET request."""
        return self._request("GET", path, query)

    def download(self, path: str, query: Mapping[str, object] | None = None) -> bytes:
        """Return a file that the collector creates."""
        return self._fetch("GET", path, query, DOWNLOAD_SECONDS, MAX_DOWNLOAD_BYTES)

    def delete(self, path: str) -> Any:
        """Delete a resource."""
        return self._request("DELETE", path, None)

    def post(self, path: str, body: Mapping[str, object]) -> Any:
        """Create a resource."""
        return self._request("POST", path, None, json.dumps(body).encode())

    def _request(self, method: str, path: str, query: Mapping[str, object] | None, body: bytes | None = None) -> Any:
        answer = self._fetch(method, path, query, body=body)
        try:
            return json.loads(answer)
        except ValueError:
            raise CommandError(f"{self.url} is not a Flyball collector. Check --collector") from None

    def _fetch(
        self,
        method: str,
        path: str,
        query: Mapping[str, object] | None,
        seconds: float = TIME_LIMIT_SECONDS,
        max_bytes: int = MAX_ANSWER_BYTES,
        body: bytes | None = None,
    ) -> bytes:
        address = f"{self.url}/api/v1/{path}" + (f"?{urlencode(query, doseq=True)}" if query else "")
        headers = {"Accept": "application/json", "Accept-Encoding": "gzip", "X-Flyball-Operator": "1"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        if body is not None:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(address, body, headers, method=method)  # noqa: S310  the scheme was checked
        try:
            with self._opener.open(request, timeout=seconds) as response:
                content = _body(response, max_bytes)
        except urllib.error.HTTPError as error:
            with error:
                raise _refusal(error, self.url, has_token=bool(self._token)) from None
        except (OSError, HTTPException, EOFError) as error:  # a time-out is an OSError; EOFError: half a gzip stream
            raise _unreachable(error, self.url) from None
        if len(content) > max_bytes:
            raise CommandError(f"the answer of {self.url} is longer than {max_bytes // 1024**2} MiB; request less")
        return content


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuses redirects, so that the token goes only to the collector that was named."""

    def redirect_request(self, *_: object) -> None:
        """Do not follow: the redirect is then an error like any other."""


def open_api(url: str, token_file: Path | None, ca_file: Path | None) -> Api:
    """Return the API of the collector that the options name."""
    return Api(url, token=_token(token_file), ca_file=ca_file)


def segment(name: str) -> str:
    """Return a name, quoted as one part of a URL's path."""
    return quote(name, safe="")


def _token(token_file: Path | None) -> str:
    if token_file is None:
        return _checked_token(os.environ.get("FLYBALL_TOKEN", ""), "FLYBALL_TOKEN")
    try:
        text = token_file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise WrongArgument(f"--token-file {token_file} is not valid UTF-8") from None
    except OSError as error:
        raise WrongArgument(f"--token-file: {_read_fault(token_file, error)}") from None
    if not text.strip():
        raise WrongArgument(f"--token-file {token_file} is empty; write the token of `flyball token add` to it")
    return _checked_token(text, f"--token-file {token_file}")


def _read_fault(path: Path | None, error: OSError) -> str:
    from flyball_reports.errors import read_fault

    return read_fault(str(path), error)


def _checked_token(text: str, source: str) -> str:
    token = text.strip()
    if not token.isascii() or not token.isprintable() or " " in token:
        raise WrongArgument(f"{source} does not contain a token: expected one word, as `flyball token add` prints it")
    return token


def _tls_context(ca_file: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except ssl.SSLError:
        raise WrongArgument(f"--ca-file {ca_file} is not a PEM certificate; name the ca.crt of the collector") from None
    except OSError as error:
        raise WrongArgument(f"--ca-file: {_read_fault(ca_file, error)}") from None


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _body(response: HTTPResponse | urllib.error.HTTPError, max_bytes: int = MAX_ANSWER_BYTES) -> bytes:
    """Read the body; one byte more than the limit shows that it was longer."""
    body = response.read(max_bytes + 1)
    return gzip.decompress(body) if response.headers.get("Content-Encoding") == "gzip" else body


def _refusal(error: urllib.error.HTTPError, url: str, *, has_token: bool) -> CommandError:
    """Return the error for an answer that is not a success. A name or value that the collector refuses is a wrong
    argument."""
    try:
        body = _body(error)
        if body.startswith(_TLS_HINT):
            return WrongArgument(f"this port speaks TLS. Use https://{urlsplit(url).netloc}")
        fault = json.loads(body)["error"]
        message, hint = printable(fault["what"]), printable(fault["hint"])
    except (ValueError, KeyError, TypeError, OSError, EOFError, HTTPException):
        return CommandError(
            f"{url} answered {error.code} {printable(error.reason)}: it is not a Flyball collector. Check --collector"
        )
    if error.code == 401 and has_token:
        return CommandError(
            f"{url} does not accept this token. Check --token-file and FLYBALL_TOKEN; "
            "`flyball token list` on the collector's machine lists the valid tokens"
        )
    if error.code == 401:
        return CommandError(f"{url} needs a token: name its file with --token-file, or set FLYBALL_TOKEN")
    for route, instead in _HINTS.items():
        hint = instead if hint.startswith(route) else hint
    kind = {400: WrongArgument, 404: NotFound}.get(error.code, CommandError)
    return kind(f"{message}; {hint}" if hint else message)


def _unreachable(error: Exception, url: str) -> CommandError:
    """Return the error for a collector that does not answer."""
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, BadStatusLine) and not isinstance(reason, OSError):
        return CommandError(f"{url} does not speak HTTP. If this is the port for agents, use the web port (3591)")
    if isinstance(reason, ssl.SSLCertVerificationError):
        return CommandError(
            f"{url}: the certificate is not trusted ({printable(reason.verify_message)}). "
            "If it comes from `flyball certs`, name its ca.crt with --ca-file"
        )
    if isinstance(reason, ssl.SSLError) and reason.reason in {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"}:
        return WrongArgument(f"this port does not speak TLS. Use http://{urlsplit(url).netloc}")
    if isinstance(reason, ssl.SSLError):
        return CommandError(f"{url}: TLS failed: {printable(reason)}")
    detail = printable(getattr(reason, "strerror", None) or reason) or type(reason).__name__
    return CommandError(
        f"no collector answers at {url} ({detail}). Start one with `flyball up`, "
        "check `systemctl status flyball-collector`, or name another with --collector URL"
    )
