"""Who may call what."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from flyball_collector.http.testing import fetch, make_parts, serving
from flyball_collector.security.tokens import Role, TokensFile, new_token

DATA = ("/api/v1/hosts", "/api/v1/overview", "/api/v1/metrics", "/metrics", "/sd")
OPEN = ("/healthz", "/readyz", "/", "/page/app.js", "/openapi.json")


async def test_tokens_are_asked_of_everybody(tmp_path: Path) -> None:
    """With a tokens file nothing that tells of hosts is told without one; health and the empty page are."""
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


async def test_a_viewer_does_not_operate(tmp_path: Path) -> None:
    """Forgetting hosts and reading the settings need an operator's token."""
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
async def test_a_strange_name_is_not_served_on_the_loopback(name: str) -> None:
    """A web site that points its own name at 127.0.0.1 (DNS rebinding) reads nothing."""
    async with serving(make_parts()) as url:
        for path in DATA:
            assert (await fetch(url + path, headers={"Host": name})).status in {400, 403}
        assert (await fetch(f"{url}/api/v1/hosts", headers={"Host": "localhost:3591"})).status == 200


async def test_another_site_cannot_operate() -> None:
    """Without tokens operating needs a header that no form of another site can send, and no proxy in between."""
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


async def test_settings_are_shown_without_secrets() -> None:
    """The settings in force name where each came from, and passwords inside of URLs are hidden."""
    parts = make_parts()
    store = msgspec.structs.replace(parts.settings.store, url="mongodb://ada:hunter2@db/flyball")
    settings = msgspec.structs.replace(parts.settings, store=store)
    parts = replace(parts, settings=settings, origins={"store.url": "collector.toml:3"})
    async with serving(parts) as url:
        told = await fetch(f"{url}/api/v1/config", headers={"X-Flyball-Operator": "1"})
    shown = {each["key"]: each for each in told.json()}
    assert shown["store.url"] == {
        "key": "store.url",
        "value": "mongodb://(hidden)@db/flyball",
        "origin": "collector.toml:3",
    }
    assert shown["limits.hosts"]["value"] == 4096
    assert b"hunter2" not in told.body
