"""Test that equal notes about many GPUs of a host are one line, with drawn series and promtool."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.grafana.dashboards import queries
from tests.grafana.prometheus import View

pytestmark = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")

GPUS = 24
LINE = 'instance="node-7", kind="bottleneck_compute"'
EXPECTED: dict[str, list[tuple[str, int]]] = {
    "Problems over time A": [],
    "Problems over time B": [(f"{{{LINE}}}", 1)],
    "annotation Bottlenecks and notes": [(f'{{{LINE}, severity="info"}}', GPUS)],
}
"""The lines of each query of the host dashboard: the first one is about warnings and critical conditions."""


@pytest.mark.parametrize("where", EXPECTED)
def test_equal_notes_about_the_gpus_of_a_host_are_one_line(where: str, tmp_path: Path) -> None:
    """A host of 24 healthy GPUs that are limited by compute has one line, not 24."""
    (query,) = [each for each in queries("flyball-host") if each.where == where]
    labels = 'job="flyball",instance="node-7",kind="bottleneck_compute",severity="info"'
    series = [f'flyball_condition_active{{{labels},gpu="GPU-{n}",index="{n}"}}' for n in range(GPUS)]
    samples = [{"labels": labels, "value": value} for labels, value in EXPECTED[where]]
    test = {
        "interval": "15s",
        "input_series": [{"series": each, "values": "1x8"} for each in series],
        "promql_expr_test": [
            {"expr": View().fill(query.expression), "eval_time": "1m", "exp_samples": samples},
        ],
    }
    path = tmp_path / "notes.yml"
    path.write_text(json.dumps({"evaluation_interval": "15s", "tests": [test]}))
    done = subprocess.run(["promtool", "test", "rules", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
