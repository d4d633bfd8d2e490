"""Access control."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from flyball_collector.http.testing import fetch, make_parts, serving
from flyball_collector.security.tokens import Role, TokensFile, new_token

DATA = ("/api/v1/hosts", "/api/v1/overview", "/api/v1/metrics", "/metrics", "/sd")
OPEN = ("/healthz", "/readyz", "/", "/page/app.js", "/openapi.json")


async def test_a_token_is_required(tmp_path: Path) -> None:
    """With a tokens file, data needs a token. Health checks and the empty page do not."""
    viewer, line = new_token(Role.VIEWER, "prometheus")
    (tmp_path / "tokens").write_text(line)
    parts = replace(make_parts(), tokens=TokensFile(tmp_path / "tokens"))
    async with serving(parts) as url:
        for path in DATA:
            assert (await fetch(url + path)).status == 401
            assert (await fetch(url + path, headers={"Authorization": "Bearer wrong"})).status == 401
            assert (await fetch(url + path, headers={"Authorization": f"Basic {viewer}"})).status == 401
            assert (await fetch(url + path, headers={"Authorization": f"Bearer {viewer}"})).status == 200
        for path in OPEN:
            assert (await fetch(url + path)).status == 200


async def test_a_viewer_has_no_operator_rights(tmp_path: Path) -> None:
    """Removing hosts and reading the settings need an operator's token."""
    viewer, viewer_line = new_token(Role.VIEWER, "v")
    operator, operator_line = new_token(Role.OPERATOR, "o")
    (tmp_path / "tokens").write_text(f"{viewer_line}\n{operator_line}\n")
    parts = replace(make_parts(), tokens=TokensFile(tmp_path / "tokens"))
    parts.fleet.ensure("a")
    async with serving(parts) as url:
        for method, path in (("DELETE", "/api/v1/hosts/a"), ("GET", "/api/v1/config")):
            refused = await fetch(url + path, method=method, headers={"Authorization": f"Bearer {viewer}"})
            assert (refused.status, refused.json()["error"]["code"]) == (403, "not_allowed")
            allowed = await fetch(url + path, method=method, headers={"Authorization": f"bearer {operator}"})
            assert allowed.status == 200


@pytest.mark.parametrize("name", ["evil.example", "evil.example:3591", "127.0.0.1.evil.example", "", "[bad"])
async def test_other_host_names_are_rejected_on_loopback(name: str) -> None:
    """A web site that resolves its own name to 127.0.0.1 (DNS rebinding) cannot read anything."""
    async with serving(make_parts()) as url:
        for path in DATA:
            assert (await fetch(url + path, headers={"Host": name})).status in {400, 403}
        assert (await fetch(f"{url}/api/v1/hosts", headers={"Host": "localhost:3591"})).status == 200


async def test_another_site_cannot_operate() -> None:
    """Without tokens, operator requests need a header that forms of other sites cannot send, and no proxy."""
    parts = make_parts()
    parts.fleet.ensure("a")
    async with serving(parts) as url:
        where = f"{url}/api/v1/hosts/a"
        assert (await fetch(where, method="DELETE")).status == 403
        proxied = {"X-Flyball-Operator": "1", "X-Forwarded-For": "10.0.0.9"}
        assert (await fetch(where, method="DELETE", headers=proxied)).status == 403
        preflight = await fetch(where, method="OPTIONS", headers={"Origin": "http://evil.example"})
        assert preflight.headers["access-control-allow-origin"] is None
        assert (await fetch(where, method="DELETE", headers={"X-Flyball-Operator": "1"})).status == 200


async def test_settings_are_listed_without_secrets() -> None:
    """Each setting has its origin, and passwords in URLs are hidden."""
    parts = make_parts()
    store = msgspec.structs.replace(parts.settings.store, url="mongodb://ada:hunter2@db/flyball")
    settings = msgspec.structs.replace(parts.settings, store=store)
    parts = replace(parts, settings=settings, origins={"store.url": "collector.toml:3"})
    async with serving(parts) as url:
        answer = await fetch(f"{url}/api/v1/config", headers={"X-Flyball-Operator": "1"})
    shown = {each["key"]: each for each in answer.json()}
    assert shown["store.url"] == {
        "key": "store.url",
        "value": "mongodb://(hidden)@db/flyball",
        "origin": "collector.toml:3",
    }
    assert shown["limits.hosts"]["value"] == 4096
    assert b"hunter2" not in answer.body
