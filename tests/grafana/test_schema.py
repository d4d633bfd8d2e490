"""Test the dashboards against the schema of the SDK that generates them."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from grafana_foundation_sdk.models.dashboard import Dashboard

from grafana.generator.__main__ import as_json
from tests.grafana.dashboards import FILES, NAMES, panels, read
from tests.grafana.schema import faults


@pytest.mark.parametrize("name", NAMES)
def test_dashboards_are_valid(name: str) -> None:
    """Keys and values fit the schema, and options of panels fit the schema of their plugin."""
    assert faults(read(name)) == []


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_the_sdk_preserves_dashboards(path: Any) -> None:
    """A dashboard that the SDK reads and writes again is unchanged."""
    assert as_json(Dashboard.from_json(read(path.stem))) == path.read_text(encoding="utf-8")


def _wrong_enum(panel: dict[str, Any]) -> None:
    panel["options"]["colorMode"] = "purple"


def _unknown_key(panel: dict[str, Any]) -> None:
    panel["fieldConfig"]["defaults"]["units"] = "s"


def _wrong_type(panel: dict[str, Any]) -> None:
    panel["gridPos"]["w"] = "6"


def _unknown_plugin(panel: dict[str, Any]) -> None:
    panel["type"] = "speedometer"


def _missing(panel: dict[str, Any]) -> None:
    del panel["options"]["reduceOptions"]


def _bad_query(panel: dict[str, Any]) -> None:
    panel["targets"][0]["expression"] = "up"


@pytest.mark.parametrize("spoil", [_wrong_enum, _unknown_key, _wrong_type, _unknown_plugin, _missing, _bad_query])
def test_the_schema_finds_faults(spoil: Callable[[dict[str, Any]], None]) -> None:
    """A spoilt panel has exactly one fault."""
    spoilt = copy.deepcopy(read("flyball-fleet"))
    spoil(next(panel for panel in panels(spoilt) if panel["type"] == "stat"))
    assert len(faults(spoilt)) == 1
