"""`flyball prices`: dated prices, those of a plan, and current ones from the package gpuhunt."""

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flyball.command import run
from flyball_planner.catalogue.prices import PROVIDERS

Captured = pytest.CaptureFixture[str]
GPUHUNT = """
from dataclasses import dataclass

@dataclass
class CatalogItem:
    provider: str
    instance_name: str
    location: str
    price: float
    spot: bool
    gpu_name: str | None = "RTX4090"
    gpu_memory: float | None = 24.0
    gpu_count: int = 1
    cpu: int = 8
    memory: float = 32.0

def query(*, provider=None, min_gpu_count=None):
    assert min_gpu_count == 1
    if provider is None and MARKET_IS_DOWN:
        raise OSError("no market answers")
    rows = [CatalogItem("runpod", "one", "EU-1", 0.5, False), CatalogItem("runpod", "one", "EU-1", 0.3, True)]
    if provider is None:
        rows.append(CatalogItem("vastai", "1", "somewhere", 0.2, False))
    return [*rows, CatalogItem("aws", "p5", "us-east-1", 50.0, False, "H100", 80.0, 8)]
"""


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """Write a specification that is planned quickly."""
    path = tmp_path / "run.yaml"
    path.write_text("model: gpt2\nhardware: RTX_4090_fp16\ntraining: {batch_size: 32, steps: 100}\n", encoding="utf-8")
    return path


@pytest.fixture
def gpuhunt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Install a package with the name and interface of gpuhunt."""
    package = tmp_path / "packages" / "gpuhunt"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("MARKET_IS_DOWN = False\n" + GPUHUNT, encoding="utf-8")
    monkeypatch.syspath_prepend(str(package.parent))
    yield package / "__init__.py"
    sys.modules.pop("gpuhunt", None)


def live(capsys: Captured, *words: str) -> list[dict[str, Any]]:
    """Return the current offers of a GPU."""
    assert run(["prices", "RTX_4090_fp16", "--live", "--hours", "10", "--format", "json", *words]) == 0
    bills: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return bills


@pytest.mark.usefixtures("gpuhunt")
def test_live_prices_have_a_region_and_the_date_of_today(capsys: Captured) -> None:
    """On demand and spot, only for this GPU; a provider can be chosen."""
    market, known = live(capsys)
    assert (market["offer"]["provider"], known["offer"]["provider"]) == ("vastai", "runpod")
    assert known["offer"]["region"] == "EU-1"
    assert known["offer"]["as_of"] == datetime.now(UTC).date().isoformat()
    assert (known["on_demand_usd"]["middle"], known["spot_usd"]["middle"]) == pytest.approx((5.0, 3.0))
    assert [each["offer"]["provider"] for each in live(capsys, "--provider", "RunPod")] == ["runpod"]
    assert run(["prices", "RTX_4090_fp16", "--live", "--provider", "gcp"]) == 2
    assert "these do: runpod, vastai" in capsys.readouterr().err


def test_a_market_that_does_not_answer_hides_no_other_offers(gpuhunt: Path, capsys: Captured) -> None:
    """Published price lists are still used, and the error is reported."""
    gpuhunt.write_text("MARKET_IS_DOWN = True\n" + GPUHUNT, encoding="utf-8")
    assert run(["prices", "RTX_4090_fp16", "--live"]) == 0
    captured = capsys.readouterr()
    assert "runpod one" in captured.out
    assert "no market answers" in captured.err


@pytest.mark.usefixtures("gpuhunt")
def test_a_plan_limits_the_live_offers(example: Path, capsys: Captured) -> None:
    """Its provider and region apply to current offers too."""
    example.write_text(example.read_text(encoding="utf-8") + "cost: {provider: RunPod, region: eu}\n", encoding="utf-8")
    assert run(["prices", "--plan", str(example), "--live", "--format", "json"]) == 0
    assert [each["offer"]["provider"] for each in json.loads(capsys.readouterr().out)] == ["runpod"]


@pytest.mark.parametrize("package", [None, SimpleNamespace()])
def test_without_gpuhunt_the_message_names_the_package(
    package: object, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """If it is missing, or if another module has its name."""
    monkeypatch.setitem(sys.modules, "gpuhunt", package)
    assert run(["prices", "RTX_4090_fp16", "--live"]) == 2
    assert "pip install gpuhunt" in capsys.readouterr().err


def test_prices_are_dated(example: Path, capsys: Captured) -> None:
    """For a device, or for the whole run of a plan."""
    assert run(["prices", "A100_80GB_fp16", "--hours", "10", "--devices", "8", "--format", "json"]) == 0
    assert all(each["offer"]["as_of"] and each["offer"]["region"] for each in json.loads(capsys.readouterr().out))
    assert run(["prices", "--plan", str(example)]) == 0
    assert run(["prices"]) == 2
    assert "either a device or --plan" in capsys.readouterr().err


def test_an_unknown_provider_is_an_error(example: Path, capsys: Captured) -> None:
    """The message lists the known ones and the nearest, for the command line and for a specification."""
    assert run(["prices", "H100_80GB_fp16", "--provider", "runpood"]) == 2
    message = capsys.readouterr().err
    example.write_text(example.read_text(encoding="utf-8") + "cost: {provider: runpood}\n", encoding="utf-8")
    assert run(["plan", str(example)]) == 2
    for text in (message, capsys.readouterr().err):
        assert all(name in text for name in (*PROVIDERS, "did you mean 'RunPod'?"))
    assert run(["prices", "H100_80GB_fp16", "--provider", "aws", "--format", "json"]) == 0
    assert {each["offer"]["provider"] for each in json.loads(capsys.readouterr().out)} == {"AWS"}


def test_a_plan_reports_a_region_without_offers(example: Path, capsys: Captured) -> None:
    """The specification excludes all other offers; the message names the keys to remove."""
    example.write_text(example.read_text(encoding="utf-8") + "cost: {provider: aws, region: moon}\n", encoding="utf-8")
    assert run(["plan", str(example)]) == 0
    assert "No offer by AWS in moon is known: omit cost.provider and cost.region" in capsys.readouterr().out
