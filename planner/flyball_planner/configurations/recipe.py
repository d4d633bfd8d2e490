"""A recipe for learning rate, batch, warm-up and checkpoints, interpolated between published trainings."""

import math
from itertools import pairwise

# GPT-3's smaller models: parameters and learning rate (Brown et al., 2020, table 2.1).
LEARNING_RATES = (
    (125e6, 6.0e-4), (350e6, 3.0e-4), (760e6, 2.5e-4), (1.3e9, 2.0e-4), (2.7e9, 1.6e-4), (6.7e9, 1.2e-4),
    (13e9, 1.0e-4), (175e9, 0.6e-4),
)  # fmt: skip
LARGEST_LEARNING_RATE = 1e-3  # below 125 M the table is extrapolated up to this rate
LAST_SHARE = 0.1  # share of the learning rate at the end (same paper, appendix B)
WEIGHT_DECAY = 0.1
GRADIENT_CLIP = 1.0  # both from the same appendix
WARM_UP_TOKENS = 375e6  # the same appendix, for batches of up to 3.2 million tokens
WARM_UP_STEPS = 2_000  # with larger ones: LLaMA (Touvron et al., 2023, §2.2), DeepSeek-V2-Lite (its model card)
WARM_UP_SHARE = 0.01  # share of a short run
BATCH_TOKENS = 0.5e6  # GPT-3's models up to 760 M
FEWEST_STEPS = 5_000  # so that small token budgets have enough optimizer steps


def learning_rate(parameters: float) -> float:
    """Interpolate in the table on logarithmic scales."""
    (small, first), *_, (large, last) = LEARNING_RATES
    if parameters <= small:
        (second_size, second) = LEARNING_RATES[1]
        slope = math.log(second / first) / math.log(second_size / small)
        return min(LARGEST_LEARNING_RATE, float(first * (parameters / small) ** slope))
    for (low, high_rate), (high, low_rate) in pairwise(LEARNING_RATES):
        if parameters <= high:
            share = math.log(parameters / low) / math.log(high / low)
            return float(high_rate * (low_rate / high_rate) ** share)
    return last * large / parameters


def batch_tokens(tokens: float) -> float:
    """Return the tokens per optimizer step for a run's number of tokens."""
    return min(BATCH_TOKENS, tokens / FEWEST_STEPS)


def warm_up_steps(steps: int, tokens_per_step: float) -> int:
    """Return GPT-3's warm-up in tokens, at least LLaMA's in steps, or a hundredth of a shorter run.

    Adam needs steps to learn its moments, however many tokens each of them has.
    """
    return max(1, min(max(round(WARM_UP_TOKENS / tokens_per_step), WARM_UP_STEPS), round(WARM_UP_SHARE * steps)))


def checkpoint_interval(write_seconds: float, failure_seconds: float) -> float:
    """Return Young's interval: √(2 · time of one checkpoint · time between failures) (Young, 1974)."""
    return math.sqrt(2 * write_seconds * failure_seconds)
