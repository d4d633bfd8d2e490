"""The benchmark of the client measures what it claims."""

import random
from pathlib import Path

import pytest

from tests.benchmarks.client.imports import OPENED, forbidden, loaded_modules
from tests.benchmarks.client.pairs import STEP_SECONDS, Slowdown, _differences, trimmed_mean


def test_slow_modules_are_recognised() -> None:
    """Also their parts; similar names are not."""
    assert forbidden({"json", "typing", "json.decoder", "_json", "_socket", "retry"}) == {
        "json",
        "typing",
        "json.decoder",
    }


def test_the_client_loads_no_slow_module_into_a_script() -> None:
    """Not even after a report."""
    modules = loaded_modules()
    assert "flyball.training.run" in modules
    assert forbidden(modules) == set()


def test_adjustments_are_loaded_when_a_script_declares_a_value() -> None:
    """A script without values does not load their modules, and one with values loads no slow module for them."""
    assert not {name for name in loaded_modules() if name.startswith("flyball.adjustments")}
    modules = loaded_modules(OPENED + "; flyball.current_run().value('calls', 1, choices=(1, 2))")
    assert "flyball.adjustments.run_adjustments" in modules
    assert forbidden(modules) == set()


def test_the_slowdown_is_found_among_noise_that_is_larger() -> None:
    """Outliers count little, and the interval contains the truth."""
    noise = random.Random(7)
    differences = [
        7e-6 + noise.gauss(0, 3e-5) + (noise.random() < 0.05) * noise.choice([-1, 1]) * 1e-3 for _ in range(20_000)
    ]
    found = trimmed_mean(differences)
    assert found.margin < 1e-6
    assert abs(found.seconds - 7e-6) < 2 * found.margin


def test_a_slowdown_is_a_share_of_a_step_of_ten_milliseconds() -> None:
    """With both ends of its interval."""
    assert Slowdown(0.01 * STEP_SECONDS, 0.002 * STEP_SECONDS).ratio() == pytest.approx((0.01, 0.008, 0.012))


def test_pairs_have_the_sign_of_the_client() -> None:
    """More work with the client is a positive difference."""
    data = Path(__file__).read_bytes() * 20

    def work() -> None:
        data.count(b"q")

    def twice() -> None:
        work()
        work()

    assert trimmed_mean(_differences(twice, work, 0.2)).seconds > 0
    assert trimmed_mean(_differences(work, twice, 0.2)).seconds < 0
