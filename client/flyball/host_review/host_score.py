"""The score of a host out of ten: the weighted mean of five parts, each the mean of its figures."""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from flyball.host.hardware_profile import HardwareProfile
from flyball.host_review.score_figures import (
    ScoreFigure,
    disk_figures,
    gpu_figures,
    memory_figures,
    network_figures,
    processor_figures,
    trainer_figures,
)

WEIGHTS = {"training": 0.30, "processor": 0.20, "memory": 0.20, "disk": 0.15, "network": 0.15}
"""Shares of the parts. Training has the largest one; but a learner that is limited by a service, a database or its data
uses the other parts, so a server without GPUs counts as much as a desktop with a fast one."""

WORDS = ((2.5, "entry level"), (4.5, "modest"), (6.5, "good"), (8.5, "strong"))
BEST_WORD = "outstanding"


class ScorePart(Struct, frozen=True):
    """One part of the score."""

    name: str
    weight: float
    score: float | None  # None: no figure of this part is known
    figures: tuple[ScoreFigure, ...]
    because: str  # the reason, if it is not scored; a remark otherwise


class HostScore(Struct, frozen=True):
    """The score and its parts."""

    score: float | None
    word: str
    parts: tuple[ScorePart, ...]

    @property
    def weakest(self) -> ScorePart | None:
        """Return the part with the lowest score."""
        known = [each for each in self.parts if each.score is not None]
        return min(known, key=lambda each: each.score or 0.0, default=None)


def score_host(profile: HardwareProfile) -> HostScore:
    """Return the score of a host. Parts without a figure are left out, and the others weigh more."""
    parts = (
        _training(profile),
        _part("processor", processor_figures, profile, "neither cores nor clock are known"),
        _part("memory", memory_figures, profile, "its size is not known"),
        _part("disk", disk_figures, profile, "neither its kind nor its size is known"),
        _part("network", network_figures, profile, "no interface reports the rate of its link"),
    )
    known = [(each.score, each.weight) for each in parts if each.score is not None]
    if not known:
        return HostScore(None, "", parts)
    score = sum(value * weight for value, weight in known) / sum(weight for _, weight in known)
    return HostScore(score, word_for(score), parts)


def word_for(score: float) -> str:
    """Return the word for a score."""
    return next((word for limit, word in WORDS if score < limit), BEST_WORD)


def _training(profile: HardwareProfile) -> ScorePart:
    """Score the GPUs, or the processor where it is the better device to train on."""
    gpus, processor = tuple(gpu_figures(profile)), tuple(trainer_figures(profile))
    on_gpus, on_processor = _mean(gpus), _mean(processor)
    if on_gpus is None or (on_processor is not None and on_processor > on_gpus):
        remark = "on the processor" if on_processor is not None else "no GPU, and the processor's speed is not known"
        return ScorePart("training", WEIGHTS["training"], on_processor, processor, remark)
    return ScorePart("training", WEIGHTS["training"], on_gpus, gpus, "on GPUs")


def _part(
    name: str, figures: Callable[[HardwareProfile], Iterator[ScoreFigure]], profile: HardwareProfile, missing: str
) -> ScorePart:
    found = tuple(figures(profile))
    score = _mean(found)
    return ScorePart(name, WEIGHTS[name], score, found, missing if score is None else "")


def _mean(figures: Sequence[ScoreFigure]) -> float | None:
    return sum(each.score for each in figures) / len(figures) if figures else None
