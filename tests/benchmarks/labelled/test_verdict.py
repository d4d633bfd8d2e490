"""Recorded bottlenecks of a real machine stay recognised; the recordings are of the product's own probes."""

import shutil
from pathlib import Path

import msgspec
import pytest

from tests.benchmarks.labelled.as_reported import AsReported
from tests.benchmarks.labelled.episode import Recorded
from tests.benchmarks.labelled.label import Use
from tests.benchmarks.labelled.record import without_reports
from tests.benchmarks.labelled.score import is_right
from tests.benchmarks.labelled.verdict import diagnose, primaries

FOLDER = Path(__file__).with_name("recorded")
EPISODES = sorted(path.stem for path in FOLDER.glob("*.json"))


def episode(name: str) -> tuple[Recorded, Path]:
    """A label and its recording."""
    return msgspec.json.decode((FOLDER / f"{name}.json").read_bytes(), type=Recorded), FOLDER / f"{name}.spool.gz"


@pytest.mark.parametrize("name", EPISODES)
def test_what_was_recorded_is_recognised(name: str) -> None:
    """One episode of each cause, a mixture, and one in which all cores are busy and nobody is to be blamed."""
    recorded, spool = episode(name)
    verdict = diagnose(recorded, spool)
    assert is_right(recorded, verdict), verdict
    assert not verdict.before
    if recorded.label.use is Use.SINGLE:
        assert any(kind in verdict.raised_after for kind in recorded.truth[0])
    assert set(verdict.base_scores) == {"cpu", "memory", "disk", "network"}


@pytest.mark.parametrize("name", EPISODES)
@pytest.mark.parametrize("reports", ["client", "hooks"])
def test_reports_of_the_client_and_of_hooks_are_enough(name: str, reports: AsReported) -> None:
    """`flyball run` alone knows fewer sections, and no loss."""
    recorded, spool = episode(name)
    assert is_right(recorded, diagnose(recorded, spool, reports=reports))


def test_no_reports_are_judged_by_the_agent_that_knew_of_no_run(tmp_path: Path) -> None:
    """Its recording is used if there is one; else the reports are left out of the other."""
    recorded, spinners = episode("0021-spinners")
    _, cold = episode("0001-cold-reads")
    spool = tmp_path / "0021-spinners.spool.gz"
    shutil.copy(cold, spool)
    assert diagnose(recorded, spool, reports="client").primary == "bottleneck_disk"
    shutil.copy(spinners, without_reports(spool))
    assert diagnose(recorded, spool, reports="client").primary == "bottleneck_disk"
    assert diagnose(recorded, spool, reports="none").primary == "bottleneck_cpu"


def test_a_steady_load_keeps_its_primary() -> None:
    """Once named, it stays."""
    assert primaries(*episode("0021-spinners")) == ("cpu",)
