"""Test that committed dashboards are up to date, and that provisioning and compose name files that exist."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from grafana.generator.__main__ import documents, main
from tests.grafana.dashboards import FILES, NAMES, ROOT, panels, read

COMPOSE = ROOT / "deploy" / "compose" / "compose.yaml"
PROVISIONING = ROOT / "grafana" / "provisioning"


def _yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_dashboards_are_up_to_date() -> None:
    """`make generated` changes nothing."""
    committed = {path.name: path.read_text(encoding="utf-8") for path in FILES}
    stale = [name for name, text in documents().items() if committed.get(name) != text]
    assert (stale, sorted(committed)) == ([], sorted(documents())), "run 'make generated'"


def test_files_of_removed_dashboards_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the generator has run, the folder holds its dashboards and nothing else."""
    (tmp_path / "flyball-old.json").write_text("{}")
    monkeypatch.setattr("sys.argv", ["generator", str(tmp_path)])
    main()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(documents())


def test_dashboards_keep_their_addresses() -> None:
    """The uid, which bookmarks and links use, is the name of the file."""
    assert {name: read(name)["uid"] for name in NAMES} == {name: name for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_to_dashboards_that_exist(name: str) -> None:
    """Every link names one of our dashboards and variables that it has."""
    dashboard = read(name)
    addresses = re.findall(r'"url": "(/d/[^"]+)"', (ROOT / "grafana" / "dashboards" / f"{name}.json").read_text())
    assert addresses
    for address in addresses:
        target, _, query = address.removeprefix("/d/").partition("?")
        assert target in NAMES
        known = {each["name"] for each in read(target)["templating"]["list"]}
        own = {each["name"] for each in dashboard["templating"]["list"]}
        assert set(re.findall(r"var-(\w+)=", query)) <= known
        assert set(re.findall(r"\$\{(\w+):queryparam\}", query)) <= known & own


@pytest.mark.parametrize("name", NAMES)
def test_links_of_tables_name_columns_that_are_shown(name: str) -> None:
    """Links of table rows and overrides use columns that are shown."""
    for panel in panels(read(name)):
        if panel["type"] != "table":
            continue
        (organize,) = [each for each in panel["transformations"] if each["id"] == "organize"]
        shown = set(organize["options"]["renameByName"].values())
        links = [
            p["value"] for each in panel["fieldConfig"]["overrides"] for p in each["properties"] if p["id"] == "links"
        ]
        for link in (one for several in links for one in several):
            assert set(re.findall(r"__data\.fields\.(\w+)", link["url"])) <= shown, panel["title"]
        for each in panel["fieldConfig"]["overrides"]:
            assert any(re.search(each["matcher"]["options"].strip("/"), title) for title in shown), panel["title"]


def test_provisioning_points_at_what_is_mounted() -> None:
    """In the container, the dashboards are mounted at the path that provisioning names."""
    (provider,) = _yaml(PROVISIONING / "dashboards" / "flyball.yaml")["providers"]
    mounts = dict(mount.split(":")[:2] for mount in _yaml(COMPOSE)["services"]["grafana"]["volumes"])
    assert mounts["../../grafana/dashboards"] == provider["options"]["path"]
    for part in ("dashboards", "datasources"):
        assert mounts[f"../../grafana/provisioning/{part}"] == f"/etc/grafana/provisioning/{part}"
    assert (provider["type"], provider["allowUiUpdates"]) == ("file", False)


def test_the_data_source_is_the_started_prometheus() -> None:
    """Addresses agree, and the data source has the scrape interval of Prometheus."""
    sources = {each["type"]: each for each in _yaml(PROVISIONING / "datasources" / "flyball.yaml")["datasources"]}
    services = _yaml(COMPOSE)["services"]
    for kind in ("prometheus", "alertmanager"):
        (listen,) = [each for each in services[kind]["command"] if each.startswith("--web.listen-address=")]
        assert listen.endswith(sources[kind]["url"].removeprefix("http://localhost"))
    scraped = _yaml(ROOT / "deploy" / "prometheus" / "prometheus.yml")["global"]["scrape_interval"]
    assert sources["prometheus"]["jsonData"]["timeInterval"] == scraped


def test_images_are_pinned_and_mounts_exist() -> None:
    """Every image has a full version, and every mounted file of the project exists."""
    for name, service in _yaml(COMPOSE)["services"].items():
        assert re.fullmatch(r"[\w./-]+:v?\d+\.\d+\.\d+", service["image"]), name
        for mount in service["volumes"]:
            source = mount.split(":")[0]
            assert not source.startswith(".") or (COMPOSE.parent / source).exists(), mount


def test_nothing_listens_beyond_loopback() -> None:
    """All services listen on loopback only."""
    services = _yaml(COMPOSE)["services"]
    assert services["grafana"]["environment"]["GF_SERVER_HTTP_ADDR"] == "127.0.0.1"
    for name in ("prometheus", "alertmanager"):
        assert any("listen-address=127.0.0.1:" in word for word in services[name]["command"])
    assert all("ports" not in service for service in services.values())
