"""Facts from the sums of a run."""

import pytest

from flyball.measuring.run_figures import call_notes, difference, figures_of, run_facts
from flyball.training.figures import Figures
from flyball.training.opening import run


def figures(**values: object) -> Figures:
    """Return sums of ten steps of 100 ms."""
    found = Figures()
    found.steps, found.nanoseconds = 10, 1_000_000_000
    for name, value in values.items():
        setattr(found, name, value)
    return found


def test_sections_become_facts_by_their_names() -> None:
    """Several may be one fact; what has no fact is left out."""
    sections = {"call kato:80": 100, "rpc": 100, "save model": 50, "validation": 20, "forward": 300, "optimizer": 10}
    scaled = {name: taken * 1_000_000 for name, taken in sections.items()}
    assert run_facts(figures(sections=scaled, waits=10, wait=250_000_000), on_host=True) == {
        "data_wait_ratio": pytest.approx(0.25),
        "service_wait_ratio": pytest.approx(0.2),
        "checkpoint_ratio": pytest.approx(0.05),
        "evaluation_ratio": pytest.approx(0.02),
        "optimizer_ratio": pytest.approx(0.01),
    }


def test_what_was_not_seen_is_unknown() -> None:
    """A training without loader has not waited zero seconds. On a GPU the host only starts the optimizer."""
    assert run_facts(figures(sections={"optimizer": 5, "checkpoint": 0}), on_host=False) == {}
    assert run_facts(figures(nanoseconds=0), on_host=True) == {}
    assert run_facts(figures(waits=3), on_host=True) == {"data_wait_ratio": 0.0}


def test_calls_are_counted_for_each_sample() -> None:
    """Or each step, if samples are unknown; services that were not called meanwhile are left out."""
    calls = {"kato:80": (40, 80_000_000, 0), "db": (10, 5_000_000, 2), "idle": (0, 0, 0)}
    assert call_notes(figures(calls=calls, samples=20.0)) == [
        "db: 0.5 calls for each sample, 0.5 ms each; 2 failed",
        "kato:80: 2 calls for each sample, 2 ms each",
    ]
    assert call_notes(figures(calls={"kato": (40, 80_000_000, 0)})) == ["kato: 4 calls for each step, 2 ms each"]


def test_the_difference_of_two_moments_is_what_happened_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """A real run: the first moment is not changed by what follows."""
    monkeypatch.setenv("FLYBALL_SOCKET", "/none")
    with run("a") as found:
        found.step()
        for count in (2, 3):
            before = figures_of(found)
            for _ in found.data(range(count)):
                with found.call("kato"):
                    pass
                found.mark("forward")
                found.step(samples=4)
            later = difference(figures_of(found), before)
            assert (later.steps, later.waits, later.samples, later.calls["kato"][0]) == (count, count, 4 * count, count)
            assert 0 < later.sections["forward"] < later.nanoseconds
            assert 0 < later.wait < later.nanoseconds
