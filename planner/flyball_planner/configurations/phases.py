"""A training in two phases: A learns on short sequences, B continues on long ones.

A warms up and then keeps its learning rate. B lets it fall to zero over the last tenth of the tokens. So A can be
extended, and B can start from any of its checkpoints (Hu et al., 2024, arXiv 2404.06395, §4: decay over 10 % suffices).
"""

from msgspec import Struct

from flyball_planner.configurations.recipe import warm_up_steps

SHARE_OF_B = 0.10
LENGTHENED = 4  # factor on the sequence in B, limited by the model


class TrainingPhase(Struct, frozen=True):
    """One of the two phases."""

    name: str
    purpose: str
    sequence: int
    samples_a_step: int
    tokens: float
    steps: int
    learning_rate_start: float
    learning_rate_end: float
    warm_up_steps: int
    data: str


def phases(
    tokens: float, batch_tokens: float, sequence: int, longest: int, learning_rate: float
) -> tuple[TrainingPhase, TrainingPhase]:
    """Return both phases of a run with a constant number of tokens per optimizer step."""
    short = max(128, sequence // 2)
    long = min(longest, LENGTHENED * sequence)
    first, second = tokens * (1 - SHARE_OF_B), tokens * SHARE_OF_B
    steps = max(1, round(first / batch_tokens)), max(1, round(second / batch_tokens))
    return (
        TrainingPhase(
            "A", "learn on short sequences, whose attention costs less", short, max(1, round(batch_tokens / short)),
            first, steps[0], 0.0, learning_rate, warm_up_steps(sum(steps), batch_tokens), "everything, shuffled",
        ),
        TrainingPhase(
            "B", "lengthen the sequence and lower the learning rate", long, max(1, round(batch_tokens / long)),
            second, steps[1], learning_rate, 0.0, 0, "the best tenth: long documents, and texts of the target domain",
        ),
    )  # fmt: skip
