"""Silences over HTTP."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from flyball_collector.http.testing import FetchedAnswer, fetch, make_parts, serving
from flyball_collector.notify.silences import SILENCE
from flyball_collector.security.tokens import Role, TokensFile, new_token
from flyball_collector.timeline.entry import entry_of
from flyball_collector.timeline.testing import make_event

OPERATOR = {"X-Flyball-Operator": "1"}


async def post_silence(url: str, headers: dict[str, str] | None = None, **request: Any) -> FetchedAnswer:
    body = msgspec.json.encode(request)
    sent_headers = {"Content-Type": "application/json", **(OPERATOR if headers is None else headers)}
    return await fetch(f"{url}/api/v1/silences", method="POST", headers=sent_headers, body=body)


async def test_a_silence_is_added_stored_listed_and_ended() -> None:
    """It is active at once and stored for restarts, until it is ended."""
    parts = make_parts()
    async with serving(parts) as url:
        added = await post_silence(url, matchers={"host": "node-*"}, seconds=3600, comment="moving racks")
        assert added.status == 201
        answer = added.json()
        assert answer["until"]["unix"] - answer["created"]["unix"] == 3600
        assert (await fetch(f"{url}/api/v1/silences")).json() == [answer]
        assert parts.notifier.silences.silence_of(entry_of(make_event()), parts.clock()) is not None
        assert len(parts.store.list_documents(SILENCE)) == 1
        ended = await fetch(f"{url}/api/v1/silences/{answer['id']}", method="DELETE", headers=OPERATOR)
        assert ended.status == 200
        assert (await fetch(f"{url}/api/v1/silences")).json() == []
        assert parts.store.list_documents(SILENCE) == []
        assert (await fetch(f"{url}/api/v1/silences/{answer['id']}", method="DELETE", headers=OPERATOR)).status == 404


@pytest.mark.parametrize(
    "request_body",
    [
        {}, {"matchers": {}}, {"matchers": {"host": "*"}, "seconds": 60}, {"matchers": {"host": "a"}},
        {"matchers": {"host": "a"}, "seconds": -5}, {"matchers": {"host": "a"}, "seconds": 1e12},
        {"matchers": {"host": "a"}, "until": "soon"}, {"matchers": {"host": "a"}, "until": "-5m"},
        {"matchers": {"host": "a"}, "seconds": 5, "until": "2040-01-01T00:00:00Z"},
        {"matchers": {"colour": "red"}, "seconds": 5}, {"matchers": {"host": "a"}, "seconds": 5, "more": 1},
        {"matchers": ["host"], "seconds": 5},
    ],
)  # fmt: skip
async def test_an_invalid_silence_is_rejected(request_body: dict[str, Any]) -> None:
    """The answer is a clear error, and no silence is added."""
    parts = make_parts()
    async with serving(parts) as url:
        answer = await post_silence(url, **request_body)
    assert answer.status == 400
    assert answer.json()["error"]["code"] in {"bad_value", "bad_request"}
    assert parts.notifier.silences.active(0) == []


async def test_only_operators_silence(tmp_path: Path) -> None:
    """Viewers may list silences. The author comes from the token. Requests of other sites are rejected."""
    viewer, viewer_line = new_token(Role.VIEWER, "vera")
    operator, operator_line = new_token(Role.OPERATOR, "otto")
    (tmp_path / "tokens").write_text(f"{viewer_line}\n{operator_line}\n")
    parts = replace(make_parts(), tokens=TokensFile(tmp_path / "tokens"))
    request_body = {"matchers": {"host": "a"}, "seconds": 60.0}
    async with serving(parts) as url:
        assert (await post_silence(url, {"Authorization": f"Bearer {viewer}"}, **request_body)).status == 403
        added = await post_silence(url, {"Authorization": f"Bearer {operator}"}, **request_body)
        assert added.json()["by"] == "otto"
        assert (await fetch(f"{url}/api/v1/silences", headers={"Authorization": f"Bearer {viewer}"})).status == 200
    async with serving(make_parts()) as url:
        assert (await post_silence(url, {}, **request_body)).status == 403


async def test_the_api_description_has_silences() -> None:
    """The OpenAPI description has the paths and methods."""
    async with serving(make_parts()) as url:
        paths = (await fetch(f"{url}/openapi.json")).json()["paths"]
    assert {"get", "post"} == set(paths["/api/v1/silences"])
    assert {"delete"} == set(paths["/api/v1/silences/{id}"])
