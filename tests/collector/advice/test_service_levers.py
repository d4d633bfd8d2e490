"""The demonstration of the three levers with small numbers: a real service and real workers."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

from flyball_collector.advice.levers import SampleTime, expect

FOLDER = Path(__file__).parents[3] / "examples" / "service_bound"


def test_the_levers_have_the_expected_effect() -> None:
    """Each lever helps, and all together help most.

    Measured factors are near the intervals of the advice, and the published ones are shown with them.
    """
    command = [sys.executable, str(FOLDER / "demonstrate.py"), "--samples", "1", "--workers", "2"]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    factors = {
        name: float(factor) for name, factor in re.findall(r"^(\w[\w ]*?) +[\d.]+ +([\d.]+)×", output, re.MULTILINE)
    }
    service, worker = runpy.run_path(str(FOLDER / "service.py")), runpy.run_path(str(FOLDER / "worker.py"))
    time = SampleTime(
        fixed=100 * service["REQUEST_SECONDS"],
        carried=100 * service["LOOKUP_SECONDS"],
        connecting=100 * service["HANDSHAKE_SECONDS"],
        computing=worker["COMPUTE_SECONDS"],
    )
    hoped = expect(time, calls=100, into=3, workers=2, cores=os.cpu_count() or 1)
    slack = 2.0  # on a loaded machine
    assert hoped.batch_calls.lower / slack < factors["batch"] < hoped.batch_calls.upper * slack
    assert hoped.parallel_workers.lower / slack < factors["workers"] < hoped.parallel_workers.upper * slack
    assert factors["batch"] > 2
    assert factors["together"] > factors["batch"]
    for words in ("measured", "expected", "published", "15–28×", "mechanism is the same"):
        assert words in output
