"""Who may call what: bearer tokens with roles, or the loopback alone where there are none.

Without a tokens file whoever can reach the loopback is a user of this machine, and a page to look at must not need a
secret on a laptop: everything is open there, operating included. What remains to keep out is a web site in that user's
browser: names that are not the loopback's are refused (DNS rebinding), operating needs a header that a form cannot
send (cross-site requests), and whatever came through a proxy is not local.
"""

from typing import Any
from urllib.parse import urlsplit

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from flyball_collector.http.errors import ApiError
from flyball_collector.security.tokens import Role, TokensFile, is_loopback, split_listen

OPERATOR_HEADER = "x-flyball-operator"
_WHO = "flyball_who"
_PROXY_HEADERS = ("forwarded", "x-forwarded-for", "x-real-ip", "via")

Connection = ASGIConnection[BaseRouteHandler, object, object, object]  # type: ignore[type-var]  # no state of ours


class Doorman:
    """Decides by connection; keeps no state but the tokens."""

    def __init__(self, tokens: TokensFile | None, listen: str) -> None:
        self._tokens = tokens
        self._on_loopback = is_loopback(split_listen(listen)[0])

    async def guard(self, connection: Connection, handler: BaseRouteHandler) -> None:
        """Guards a handler: `opt={"role": …}` says what it needs; viewers may call the others."""
        self.check(connection, handler.opt.get("role", Role.VIEWER))

    def check(self, connection: Connection, needed: Role) -> None:
        """Raise unless the caller may."""
        if self._tokens is not None:
            self._check_token(self._tokens, connection, needed)
        else:
            self._check_open(connection, needed)

    def _check_token(self, tokens: TokensFile, connection: Connection, needed: Role) -> None:
        scheme, _, presented = connection.headers.get("authorization", "").partition(" ")
        token = tokens.find(presented.strip()) if scheme.lower() == "bearer" else None
        if token is None:
            error = ApiError(401, "not_known", "a valid token is needed", "send Authorization: Bearer TOKEN")
            error.headers["WWW-Authenticate"] = "Bearer"
            raise error
        if token.role < needed:
            what = f"{token.name} is a {token.role.name.lower()}; this needs {needed.name.lower()}"
            raise ApiError(403, "not_allowed", what, "use an operator's token")
        connection.scope["state"][_WHO] = token.name

    def _check_open(self, connection: Connection, needed: Role) -> None:
        if self._on_loopback and not _is_local_name(connection):
            what = f"no tokens are set, so only names of the loopback are served, not {_host(connection)[:100]!r}"
            raise ApiError(403, "not_local", what, "open http://localhost:PORT, or set http.tokens_file")
        if needed < Role.OPERATOR:
            return
        if not self._on_loopback or not _is_local_peer(connection):
            what = "without http.tokens_file only the loopback may operate"
            raise ApiError(403, "not_allowed", what, "run this on the collector's machine, or set http.tokens_file")
        if OPERATOR_HEADER not in connection.headers:
            what = f"the header {OPERATOR_HEADER}: 1 is missing, so this may come from a strange web page"
            raise ApiError(403, "not_allowed", what, "send the header")


def who(connection: ASGIConnection[Any, Any, Any, Any]) -> str:
    """Whose token it was; empty where none is needed."""
    return str(connection.state.get(_WHO, ""))


def _host(connection: Connection) -> str:
    return connection.headers.get("host", "")


def _is_local_name(connection: Connection) -> bool:
    try:
        name = urlsplit(f"//{_host(connection)}").hostname
    except ValueError:
        return False
    return name is not None and is_loopback(name)


def _is_local_peer(connection: Connection) -> bool:
    client = connection.client
    proxied = any(header in connection.headers for header in _PROXY_HEADERS)
    return client is not None and is_loopback(client.host) and not proxied
