"""The demonstrations of examples/govern/ keep what they promise."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import subprocess

MOST_SECONDS = 420


@pytest.mark.parametrize("name", ["service_bound", "heat", "harm", "oom"])
def test_a_demonstration_keeps_its_promises(
    name: str, demonstrations: Mapping[str, "subprocess.Popen[str] | str"]
) -> None:
    """It ends with status 0, and each figure with a promise has reached it."""
    process = demonstrations[name]
    if isinstance(process, str):
        pytest.skip(process)
    output, errors = process.communicate(timeout=MOST_SECONDS)
    assert process.returncode == 0, f"{errors[-3000:]}\n{output[-3000:]}"
    result: dict[str, Any] = json.loads(output.splitlines()[-1])
    promised = [figure for figure in result["figures"] if figure["reached"] is not None]
    assert promised
    assert [figure["name"] for figure in promised if not figure["reached"]] == []
    assert result["adjustments"]
