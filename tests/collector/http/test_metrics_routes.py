"""Metrics, service discovery, health checks and the API description."""

import asyncio
import gzip
from dataclasses import replace

from prometheus_client.parser import text_string_to_metric_families

from flyball_collector.http.testing import MachineDouble, fetch, make_parts, serving
from flyball_collector.testing import FlakyStore


async def test_the_fleet_and_one_target_parse() -> None:
    """The fleet's page has instance labels, a target's page has none, and a parser accepts both."""
    parts = make_parts()
    for name in ("a", "b"):
        parts.fleet.apply(MachineDouble(name, 1).tick(0, parts.clock()))
    async with serving(parts) as url:
        whole = await fetch(f"{url}/metrics", headers={"Accept-Encoding": "gzip"})
        one = await fetch(f"{url}/metrics?target=a")
        missing = await fetch(f"{url}/metrics?target=aa")
        openmetrics = await fetch(f"{url}/metrics", headers={"Accept": "application/openmetrics-text"})
    assert whole.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = {family.name: family for family in text_string_to_metric_families(gzip.decompress(whole.body).decode())}
    instances = {sample.labels["instance"] for sample in families["flyball_cpu_busy_ratio"].samples}
    assert instances == {"a", "b"}
    assert "flyball_collector_http_requests" in families
    alone = {family.name: family for family in text_string_to_metric_families(one.body.decode())}
    assert "instance" not in alone["flyball_cpu_busy_ratio"].samples[0].labels
    assert missing.status == 404
    assert openmetrics.headers["content-type"].startswith("application/openmetrics-text")
    assert openmetrics.body.endswith(b"# EOF\n")


async def test_the_collectors_own_metrics_have_their_own_path() -> None:
    """The collector's metrics can be scraped without rendering the fleet."""
    parts = make_parts()
    parts.fleet.apply(MachineDouble("a", 1).tick(0, parts.clock()))
    async with serving(parts) as url:
        text = await fetch(f"{url}/metrics/collector")
        openmetrics = await fetch(f"{url}/metrics/collector", headers={"Accept": "application/openmetrics-text"})
    names = {family.name for family in text_string_to_metric_families(text.body.decode())}
    assert "flyball_collector_http_requests" in names
    assert "flyball_cpu_busy_ratio" not in names
    assert openmetrics.body.endswith(b"\n# EOF\n")


async def test_targets_have_the_address_of_the_request() -> None:
    """Service discovery lists every host once, at the address that Prometheus itself used."""
    parts = make_parts()
    parts.fleet.ensure("a")
    async with serving(parts) as url:
        answer = (await fetch(f"{url}/sd")).json()
    assert answer[0]["targets"] == [url.removeprefix("http://")]
    assert answer[0]["labels"]["__param_target"] == "a"


async def test_readiness_has_reasons() -> None:
    """The collector is alive if the event loop answers, and ready if there is no reason against it."""
    ready = make_parts()
    async with serving(ready) as url:
        assert (await fetch(f"{url}/readyz")).json() == {"ok": True, "reasons": []}
    down = replace(ready, not_ready=lambda: ["store: database is locked"], warming=lambda: True)
    async with serving(down) as url:
        answer = await fetch(f"{url}/readyz")
        assert (await fetch(f"{url}/healthz")).status == 200
    assert answer.status == 503
    assert answer.json()["reasons"][0] == "store: database is locked"
    assert answer.json()["reasons"][1].startswith("warming")


async def test_a_store_that_takes_no_events_is_a_reason() -> None:
    """Events and decisions wait in memory then, and would be lost with the collector."""
    store = FlakyStore()
    parts = make_parts(store)
    journal = parts.timeline.journal
    async with asyncio.timeout(60), serving(parts) as url:
        writing = asyncio.create_task(journal.run())
        store.down = True
        journal.add([("note", "1", b"{}")])
        while not journal.failing:  # noqa: ASYNC110  the journal's own task ends it
            await asyncio.sleep(0.01)
        answer = await fetch(f"{url}/readyz")
        writing.cancel()
        journal.shut_down()
    assert (answer.status, answer.json()["reasons"][0][:34]) == (503, "store: no writes of events and adj")


async def test_metrics_are_declared_with_unit_and_meaning() -> None:
    """Every metric of the fleet is listed once, by name."""
    parts = make_parts()
    for name in ("a", "b"):
        parts.fleet.apply(MachineDouble(name, 2).tick(0, parts.clock()))
    async with serving(parts) as url:
        answer = (await fetch(f"{url}/api/v1/metrics")).json()
    names = [each["name"] for each in answer]
    assert names == sorted(set(names))
    assert next(each for each in answer if each["name"] == "gpu_power_watts")["labels"] == ["gpu"]


async def test_the_description_is_complete_and_loads_nothing_from_elsewhere() -> None:
    """OpenAPI has every route, and no documentation page loads anything from another server."""
    async with serving(make_parts()) as url:
        answer = (await fetch(f"{url}/openapi.json")).json()
        paths = set(answer["paths"])
        assert {"/api/v1/hosts/{name}", "/api/v1/hosts/{name}/series", "/metrics", "/sd", "/healthz"} <= paths
        assert "parts" not in str(answer["paths"]["/api/v1/hosts"]["get"]["parameters"])
        for path in ("/api", "/api/swagger", "/api/redoc", "/api/elements", "/api/scalar", "/schema"):
            assert b"<script" not in (await fetch(url + path)).body


async def test_an_unknown_path_is_a_json_error() -> None:
    """The error has the usual shape, with the security headers of every answer."""
    async with serving(make_parts()) as url:
        answer = await fetch(f"{url}/nonsense")
    assert answer.status == 404
    assert set(answer.json()["error"]) == {"code", "what", "hint"}
    assert "script-src 'self'" in answer.headers["content-security-policy"]
