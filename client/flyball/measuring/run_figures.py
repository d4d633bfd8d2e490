"""Facts and notes from the sums of a run over some steps."""

from __future__ import annotations

from flyball.training.figures import Figures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flyball.training.run import Run

_PARTS = (
    ("checkpoint_ratio", ("checkpoint", "save")),
    ("evaluation_ratio", ("eval", "valid")),
    ("communication_ratio", ("communicat", "allreduce", "all_reduce", "nccl", "barrier")),
    ("service_wait_ratio", ("call ", "service", "rpc", "request", "query", "http")),
)
"""Facts, and the words in the names of the sections whose time they are. The first that fits counts."""

_OPTIMIZER = "optimizer"


def figures_of(run: Run) -> Figures:
    """Return a copy of the sums of a run since its start."""
    run.summary()  # adds the figures of this second to the sums
    copy = Figures()
    copy.add(run._progress.overall)
    return copy


def difference(later: Figures, earlier: Figures) -> Figures:
    """Return what was added between two moments."""
    found = Figures()
    found.steps = later.steps - earlier.steps
    found.nanoseconds = later.nanoseconds - earlier.nanoseconds
    found.waits, found.wait = later.waits - earlier.waits, later.wait - earlier.wait
    if later.samples is not None:
        found.samples = later.samples - (earlier.samples or 0.0)
    for name, taken in later.sections.items():
        found.sections[name] = taken - earlier.sections.get(name, 0)
    for service, (count, taken, errors) in later.calls.items():
        before = earlier.calls.get(service, (0, 0, 0))
        found.calls[service] = (count - before[0], taken - before[1], errors - before[2])
    return found


def run_facts(figures: Figures, *, on_host: bool) -> dict[str, float]:
    """Return the shares of the steps that are known. What was never seen is unknown, not zero.

    The host only starts the work of a GPU, so its time in the optimizer is a share of the step `on_host` alone.
    """
    whole = figures.nanoseconds
    if whole <= 0:
        return {}
    parts = {"data_wait_ratio": figures.wait} if figures.waits else {}
    for name, taken in figures.sections.items():
        fact = next((fact for fact, words in _PARTS if any(word in name.lower() for word in words)), "")
        if fact and taken > 0:
            parts[fact] = parts.get(fact, 0) + taken
    if on_host and figures.sections.get(_OPTIMIZER, 0) > 0:
        parts["optimizer_ratio"] = figures.sections[_OPTIMIZER]
    return {fact: min(1.0, taken / whole) for fact, taken in parts.items()}


def call_notes(figures: Figures) -> list[str]:
    """Return a sentence for each service that was called: calls for each sample or step, and their duration."""
    notes = []
    unit, amount = ("sample", figures.samples) if figures.samples else ("step", float(figures.steps))
    for service, (count, taken, errors) in sorted(figures.calls.items()):
        if count > 0:
            failed = f"; {errors} failed" if errors else ""
            per = f"{count / amount:.3g} calls for each {unit}, " if amount else ""
            notes.append(f"{service}: {per}{taken / count / 1e6:.3g} ms each{failed}")
    return notes
