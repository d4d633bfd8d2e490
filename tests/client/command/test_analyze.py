"""`flyball analyze`: formats, saved profiles, written configurations, and errors."""

import json
from pathlib import Path

import pytest
from playwright.async_api import async_playwright

from flyball.command import run
from flyball.command.analyze import write_progress
from flyball.command.analyze_surroundings import read_surroundings
from flyball.host.benchmarks.benchmark_names import BenchmarkProgress
from flyball.host.benchmarks.disk_benchmark import IN_MEMORY
from tests.client.command.test_start import started
from tests.client.host_review.recorded_hosts import FOLDER, OTHERS, PEERS, document_of

Captured = pytest.CaptureFixture[str]
CHROMIUM = "/usr/bin/chromium"
KEYS = {
    "schema", "score", "recommended", "next_steps", "warnings", "suggestions", "power", "cooling", "configurations",
    "no_configurations", "bottlenecks", "profile", "written",
}  # fmt: skip


def _saved(name: str) -> str:
    return str(FOLDER / f"{name}.json")


@pytest.mark.parametrize("name", [*PEERS, *OTHERS])
def test_a_saved_profile_is_reviewed_on_one_screen(name: str, capsys: Captured) -> None:
    """Score, system, findings and next steps are there, and nothing is None."""
    assert run(["analyze", "--from", _saved(name), "--profile-only"]) == 0
    text = capsys.readouterr().out
    for title in ("Score", "System", "Next steps"):
        assert f"\n{title}" in text
    assert "None" not in text
    assert "Configurations" not in text


def test_json_has_a_stable_shape_and_is_read_back(tmp_path: Path, capsys: Captured) -> None:
    """The documented keys are all there; the written document is a saved profile itself."""
    assert run(["analyze", "--from", _saved("node"), "--profile-only", "--format", "json"]) == 0
    text = capsys.readouterr().out
    document = json.loads(text)
    assert document.keys() == KEYS
    assert document["schema"] == 1
    assert {each["name"] for each in document["score"]["parts"]} == {
        "training",
        "processor",
        "memory",
        "disk",
        "network",
    }
    path = tmp_path / "host.json"
    path.write_text(text, encoding="utf-8")
    assert run(["analyze", "--from", str(path), "--profile-only", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == document


def test_this_machine_is_reviewed_in_all_formats(tmp_path: Path, capsys: Captured) -> None:
    """The real host has a score, and each suffix has its format."""
    assert run(["analyze", "--profile-only", "--folder", str(tmp_path)]) == 0
    assert " of 10, " in capsys.readouterr().out
    for suffix, begin in (
        ("md", "# Host analysis"),
        ("json", "{"),
        ("html", "<!doctype html>"),
        ("txt", "Host analysis"),
    ):
        path = tmp_path / f"host.{suffix}"
        assert run(["analyze", "--profile-only", "--folder", str(tmp_path), "--output", str(path)]) == 0
        assert path.read_text(encoding="utf-8").startswith(begin)


def test_verbose_lists_the_reasons_of_unknown_values(capsys: Captured) -> None:
    """Otherwise only their number is shown."""
    assert run(["analyze", "--from", _saved("mac"), "--profile-only"]) == 0
    assert "5 values; --verbose lists the reasons" in capsys.readouterr().out
    assert run(["analyze", "--from", _saved("mac"), "--profile-only", "--verbose"]) == 0
    assert "macOS has no sysfs" in capsys.readouterr().out


def test_measured_rates_are_shown_and_scored(capsys: Captured) -> None:
    """A profile with measurements lists them, scores them instead of typical ones, and has a forecast."""
    assert run(["analyze", "--from", _saved("virtual"), "--profile-only"]) == 0
    text = capsys.readouterr().out
    assert "\nMeasured" in text
    assert "1.12 GB/s (5.1, measured)" in text
    assert "Bottlenecks" in text
    assert "flyball analyze --benchmark" not in text


def test_measured_speeds_are_shown_with_what_to_know_about_them(tmp_path: Path, capsys: Captured) -> None:
    """Copies with pinned memory and without it; a GPU that others use has its reason; a disk in memory is none."""
    document = document_of("workstation")
    speed = {"index": 0, "matmul_tflops": {"bf16": 150.0}, "host_to_device_gb_per_second": 12.5}
    disk = {"path": "/memory", "bytes": 1, "write_mb_per_second": 900.0, "direct": False, "note": IN_MEMORY}
    document["benchmarks"] = {"gpus": [{**speed, "pageable_to_device_gb_per_second": 4.0}], "disk": disk}
    document["unavailable"] = {"benchmarks.gpus.left_out": "GPU 1 is in use by other programs"}
    path = tmp_path / "host.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert run(["analyze", "--from", str(path), "--profile-only"]) == 0
    text = capsys.readouterr().out
    assert "matrix products: bf16 150 TFLOP/s, copies to it 12.5 GB/s (4 GB/s without pinned memory)" in text
    assert "GPU 1 is in use by other programs" in text
    assert f"({IN_MEMORY})" in text


def test_progress_is_one_line_for_each_benchmark(capsys: Captured) -> None:
    """The name is written before, and the time or the reason after it, all to the standard error."""
    write_progress(BenchmarkProgress("disk", 3, 6))
    write_progress(BenchmarkProgress("disk", 3, 6, seconds=1.96))
    write_progress(BenchmarkProgress("mongo", 5, 6))
    write_progress(BenchmarkProgress("mongo", 5, 6, seconds=1.0, reason="no server"))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "3/6 disk of the working folder … 2.0 s",
        "5/6 MongoDB … not measured: no server",
    ]


@pytest.mark.parametrize(
    ("name", "hardware"), [("workstation", False), ("container", True)], ids=["listed GPU", "unlisted processor"]
)
def test_generated_configurations_can_be_planned(name: str, hardware: bool, tmp_path: Path, capsys: Captured) -> None:
    """Three specifications are written with files for frameworks; existing ones are never overwritten."""
    written = tmp_path / "configurations"
    words = ["analyze", "--from", _saved(name), "--generate-configs", "--write", str(written)]
    assert run(words) == 0
    captured = capsys.readouterr()
    assert f"Wrote {written / 'balanced.yaml'}" in captured.err
    assert f"`flyball plan {written}/" in captured.out
    assert {path.name for path in written.glob("*.yaml")} - {"hardware.yaml"} == {
        "conservative.yaml", "balanced.yaml", "extreme.yaml",
    }  # fmt: skip
    assert (written / "hardware.yaml").exists() is hardware
    assert (written / "balanced" / "README.md").exists()
    for kind in ("conservative", "balanced", "extreme"):
        assert run(["plan", str(written / f"{kind}.yaml"), "--format", "json"]) == 0
        plan = json.loads(capsys.readouterr().out)
        assert plan["memory"]["verdict"] == "fits"
        assert plan["host"]["verdict"] in {"", "fits"}
    assert run(words) == 1
    assert "was not changed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--profile-only", "--benchmark"], "--profile-only measures nothing"),
        (["--profile-only", "--generate-configs"], "--profile-only proposes no configurations"),
        (["--from", "host.json", "--benchmark"], "--benchmark can only measure this machine"),
        (["--write", "x"], "add that option"),
        (["--from", "absent.json"], "absent.json"),
        (["--from", "broken.json"], "not valid JSON"),
        (["--from", "list.json"], "not a profile"),
        (["--from", "wrong.json"], "not a hardware profile"),
        (["--folder", "absent"], "there is no such folder"),
        (["--output", "host.pdf"], ".pdf is not a known format"),
    ],
)
def test_wrong_arguments_are_one_line(
    words: list[str], message: str, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names the option and what to do; nothing is written."""
    monkeypatch.chdir(tmp_path)
    Path("broken.json").write_text("{", encoding="utf-8")
    Path("list.json").write_text("[]", encoding="utf-8")
    Path("wrong.json").write_text('{"tier": "HUGE"}', encoding="utf-8")
    before = sorted(tmp_path.iterdir())
    assert run(["analyze", *words]) in {1, 2}
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") <= 2
    assert captured.out == ""
    assert sorted(tmp_path.iterdir()) == before


def test_surroundings_are_read_from_the_kernel(tmp_path: Path) -> None:
    """The driver of the clock and databases are found; missing files are unknown."""
    proc, system = tmp_path / "proc", tmp_path / "sys"
    for number, name in ((1, "systemd"), (70, "mongod"), (71, "mongod"), (80, "redis-server")):
        (proc / str(number)).mkdir(parents=True)
        (proc / str(number) / "comm").write_text(f"{name}\n", encoding="utf-8")
    (proc / "90").mkdir()  # a process that ended
    frequency = system / "devices/system/cpu/cpu0/cpufreq"
    frequency.mkdir(parents=True)
    (frequency / "scaling_driver").write_text("intel_pstate\n", encoding="utf-8")
    found = read_surroundings(proc, system)
    assert found.databases == ("mongod", "redis-server")
    assert (found.scaling_driver, found.energy_preference) == ("intel_pstate", "")
    nothing = read_surroundings(tmp_path / "absent", tmp_path / "absent")
    assert (nothing.databases, nothing.scaling_driver) == ((), "")


@pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="Debian's chromium is not installed")
async def test_the_page_shows_its_charts_and_fits_a_phone(tmp_path: Path) -> None:
    """The page loads nothing else, has its charts, and does not scroll horizontally."""
    file = tmp_path / "host.html"
    assert run(["analyze", "--from", _saved("workstation"), "--output", str(file)]) == 0
    async with async_playwright() as play:
        browser = await play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = await browser.new_page(viewport={"width": 420, "height": 800})
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        await page.goto(file.as_uri())
        boxes = [await chart.bounding_box() for chart in await page.locator("svg").all()]
        width = await page.evaluate("document.documentElement.scrollWidth")
        await browser.close()
    assert requests == [file.as_uri()]
    assert len(boxes) == 3
    assert all(box is not None and box["width"] > 200 and box["height"] > 20 for box in boxes)
    assert width <= 420


def test_the_command_imports_only_what_it_needs() -> None:
    """No training library and no package for terminals delays the review of a saved profile."""
    _, names = started("analyze", "--from", _saved("laptop"), "--profile-only")
    assert "msgspec" in names
    assert not names & {"torch", "pandas", "rich", "httpx", "grpc", "pymongo", "flyball_collector"}
