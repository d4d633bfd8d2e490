"""Access control: bearer tokens with roles, or only loopback if there are none.

Without a tokens file, anyone who can reach loopback is a user of this machine, and viewing a page must not need a
secret on a laptop: everything is open there, including operator requests. A web site in that user's browser must still
be kept out: other host names than loopback's are refused (DNS rebinding), operator requests need a header that a form
cannot send (cross-site requests), and requests through a proxy are not local.
"""

from typing import Any

import structlog
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from flyball_collector.http.errors import ApiError
from flyball_collector.http.host_header import parse_host
from flyball_collector.security.tokens import Role, TokensFile, is_loopback, split_listen

_log = structlog.stdlib.get_logger(__name__)

OPERATOR_HEADER = "x-flyball-operator"
_CALLER_KEY = "flyball_caller"
_ROLE_KEY = "flyball_role"
_PROXY_HEADERS = ("forwarded", "x-forwarded-for", "x-real-ip", "via")

Connection = ASGIConnection[BaseRouteHandler, object, object, object]  # type: ignore[type-var]  # no state


class AccessGuard:
    """Decides for each connection. Its only state is the tokens."""

    def __init__(self, tokens: TokensFile | None, listen: str) -> None:
        self._tokens = tokens
        self._on_loopback = is_loopback(split_listen(listen)[0])

    async def guard(self, connection: Connection, handler: BaseRouteHandler) -> None:
        """Check the caller for a handler. `opt={"role": …}` names its role; the default is viewer."""
        self.check(connection, handler.opt.get("role", Role.VIEWER))

    def check(self, connection: Connection, needed: Role) -> None:
        """Raise `ApiError` unless the caller has the needed role."""
        if self._tokens is not None:
            self._check_token(self._tokens, connection, needed)
        else:
            self._check_open(connection, needed)

    def _check_token(self, tokens: TokensFile, connection: Connection, needed: Role) -> None:
        scheme, _, presented = connection.headers.get("authorization", "").partition(" ")
        token = tokens.find(presented.strip()) if scheme.lower() == "bearer" else None
        if token is None:
            hint = "send the header Authorization: Bearer TOKEN"
            error = ApiError(401, "not_known", "a valid token is required", hint)
            error.headers["WWW-Authenticate"] = "Bearer"
            raise error
        if token.role < needed:
            what = f"{token.name} has the role {token.role.name.lower()}; the role {needed.name.lower()} is required"
            _log.warning("request_not_allowed", by=token.name, role=token.role.name.lower(), path=connection.url.path)
            raise ApiError(403, "not_allowed", what, "use an operator's token")
        connection.scope["state"][_CALLER_KEY] = token.name
        connection.scope["state"][_ROLE_KEY] = token.role

    def _check_open(self, connection: Connection, needed: Role) -> None:
        if self._on_loopback and not _is_local_name(connection):
            what = f"host name {_host(connection)[:100]!r} is refused: without tokens only loopback names are served"
            raise ApiError(403, "not_local", what, "open http://localhost:PORT, or set http.tokens_file")
        is_local = self._on_loopback and _is_local_peer(connection)
        is_marked = OPERATOR_HEADER in connection.headers
        connection.scope["state"][_ROLE_KEY] = Role.OPERATOR if is_local and is_marked else Role.VIEWER
        if needed < Role.OPERATOR:
            return
        if not self._on_loopback or not _is_local_peer(connection):
            what = "without http.tokens_file, operator requests must come from loopback"
            raise ApiError(403, "not_allowed", what, "run this on the collector's machine, or set http.tokens_file")
        if OPERATOR_HEADER not in connection.headers:
            what = f"missing header {OPERATOR_HEADER}: 1, which protects against requests of other web sites"
            raise ApiError(403, "not_allowed", what, "send the header")


def token_name(connection: ASGIConnection[Any, Any, Any, Any]) -> str:
    """Return the name of the caller's token; empty if none is required."""
    return str(connection.state.get(_CALLER_KEY, ""))


def is_operator(connection: ASGIConnection[Any, Any, Any, Any]) -> bool:
    """Return True if the caller of a handler for viewers has the rights of an operator."""
    return bool(connection.state.get(_ROLE_KEY, Role.VIEWER) >= Role.OPERATOR)


def _host(connection: Connection) -> str:
    return connection.headers.get("host", "")


def _is_local_name(connection: Connection) -> bool:
    host = parse_host(_host(connection))
    return host is not None and is_loopback(host.name)


def _is_local_peer(connection: Connection) -> bool:
    client = connection.client
    proxied = any(header in connection.headers for header in _PROXY_HEADERS)
    return client is not None and is_loopback(client.host) and not proxied
