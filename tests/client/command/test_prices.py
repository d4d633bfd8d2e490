"""Prices as a user asks for them: dated ones, those of a plan, and live ones through the package gpuhunt."""

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
    """A specification that is quickly planned."""
    path = tmp_path / "run.yaml"
    path.write_text("model: gpt2\nhardware: RTX_4090_fp16\ntraining: {batch_size: 32, steps: 100}\n", encoding="utf-8")
    return path


@pytest.fixture
def gpuhunt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of gpuhunt's name and interface, found where packages are."""
    package = tmp_path / "packages" / "gpuhunt"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("MARKET_IS_DOWN = False\n" + GPUHUNT, encoding="utf-8")
    monkeypatch.syspath_prepend(str(package.parent))
    yield package / "__init__.py"
    sys.modules.pop("gpuhunt", None)


def live(capsys: Captured, *words: str) -> list[dict[str, Any]]:
    """The offers of a card as they are asked now."""
    assert run(["prices", "RTX_4090_fp16", "--live", "--hours", "10", "--format", "json", *words]) == 0
    bills: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return bills


@pytest.mark.usefixtures("gpuhunt")
def test_live_prices_come_with_their_place_and_today(capsys: Captured) -> None:
    """On demand and on spot, of this card alone; a provider can be chosen."""
    market, known = live(capsys)
    assert (market["offer"]["provider"], known["offer"]["provider"]) == ("vastai", "runpod")
    assert known["offer"]["region"] == "EU-1"
    assert known["offer"]["as_of"] == datetime.now(UTC).date().isoformat()
    assert (known["on_demand_usd"]["middle"], known["spot_usd"]["middle"]) == pytest.approx((5.0, 3.0))
    assert [each["offer"]["provider"] for each in live(capsys, "--provider", "RunPod")] == ["runpod"]
    assert run(["prices", "RTX_4090_fp16", "--live", "--provider", "gcp"]) == 2
    assert "runpod, vastai have some" in capsys.readouterr().err


def test_a_market_that_does_not_answer_hides_no_others(gpuhunt: Path, capsys: Captured) -> None:
    """Lists that are published are still there, and what is missing is told."""
    gpuhunt.write_text("MARKET_IS_DOWN = True\n" + GPUHUNT, encoding="utf-8")
    assert run(["prices", "RTX_4090_fp16", "--live"]) == 0
    told = capsys.readouterr()
    assert "runpod one" in told.out
    assert "no market answers" in told.err


@pytest.mark.usefixtures("gpuhunt")
def test_a_plan_is_priced_live_with_what_it_says_of_offers(example: Path, capsys: Captured) -> None:
    """Its provider and region hold for today's offers too."""
    example.write_text(example.read_text(encoding="utf-8") + "cost: {provider: RunPod, region: eu}\n", encoding="utf-8")
    assert run(["prices", "--plan", str(example), "--live", "--format", "json"]) == 0
    assert [each["offer"]["provider"] for each in json.loads(capsys.readouterr().out)] == ["runpod"]


@pytest.mark.parametrize("package", [None, SimpleNamespace()])
def test_without_gpuhunt_it_is_told_what_to_install(
    package: object, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """Where it is missing, or something else has its name; and the way out."""
    monkeypatch.setitem(sys.modules, "gpuhunt", package)
    assert run(["prices", "RTX_4090_fp16", "--live"]) == 2
    assert "pip install gpuhunt" in capsys.readouterr().err


def test_prices_are_dated(example: Path, capsys: Captured) -> None:
    """Of a device, or of a plan's whole run."""
    assert run(["prices", "A100_80GB_fp16", "--hours", "10", "--devices", "8", "--format", "json"]) == 0
    assert all(each["offer"]["as_of"] and each["offer"]["region"] for each in json.loads(capsys.readouterr().out))
    assert run(["prices", "--plan", str(example)]) == 0
    assert run(["prices"]) == 2
    assert "either a device or --plan" in capsys.readouterr().err


def test_a_provider_that_nobody_knows_is_refused(example: Path, capsys: Captured) -> None:
    """With those that have offers, and the one that was meant: in a specification as on the command line."""
    assert run(["prices", "H100_80GB_fp16", "--provider", "runpood"]) == 2
    asked = capsys.readouterr().err
    example.write_text(example.read_text(encoding="utf-8") + "cost: {provider: runpood}\n", encoding="utf-8")
    assert run(["plan", str(example)]) == 2
    for told in (asked, capsys.readouterr().err):
        assert all(name in told for name in (*PROVIDERS, "did you mean RunPod?"))
    assert run(["prices", "H100_80GB_fp16", "--provider", "aws", "--format", "json"]) == 0
    assert {each["offer"]["provider"] for each in json.loads(capsys.readouterr().out)} == {"AWS"}


def test_a_place_without_offers_is_told_in_the_plan(example: Path, capsys: Captured) -> None:
    """What stands in the specification shuts the others out, and can be left out."""
    example.write_text(example.read_text(encoding="utf-8") + "cost: {provider: aws, region: moon}\n", encoding="utf-8")
    assert run(["plan", str(example)]) == 0
    assert "No offer by AWS in moon is known: leave cost.provider and cost.region out" in capsys.readouterr().out
