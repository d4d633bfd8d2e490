"""The demonstration of the three levers, with small numbers: real service, real workers."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

from flyball_collector.advice.levers import SampleTime, expect

FOLDER = Path(__file__).parents[3] / "examples" / "service_bound"


def test_the_levers_bring_what_the_product_expects() -> None:
    """Each lever helps, all together help most, measured factors lie near the intervals of the advice, and the
    published ones stand beside them."""
    command = [sys.executable, str(FOLDER / "demonstrate.py"), "--samples", "1", "--workers", "2"]
    told = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    factors = {
        name: float(factor) for name, factor in re.findall(r"^(\w[\w ]*?) +[\d.]+ +([\d.]+)×", told, re.MULTILINE)
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
    for words in ("measured", "expected", "published", "15–28×", "the mechanism is what is"):
        assert words in told
