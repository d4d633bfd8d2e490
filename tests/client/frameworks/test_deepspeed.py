"""Test what an engine of DeepSpeed declares. The engine here behaves as DeepSpeed's; the package is tried by hand."""

from collections.abc import Callable

from flyball.frameworks.attachment import Attachment
from flyball.frameworks.deepspeed import attach
from flyball.training.run import Run
from tests.client.adjustments.adjusting_agent import AdjustingAgent
from tests.client.adjustments.conftest import adjusted

__all__ = ["adjusted"]

Opened = Callable[..., tuple[AdjustingAgent, Run]]


class Engine:
    """Steps at each batch."""

    global_rank, world_size = 0, 1

    def __init__(self) -> None:
        self.global_steps = 0

    def train_micro_batch_size_per_gpu(self) -> int:
        """Return the samples of a batch."""
        return 16

    def gradient_accumulation_steps(self) -> int:
        """Return the batches of a step."""
        return 1

    def backward(self, loss: object) -> None:
        """Compute gradients."""

    def step(self) -> None:
        """Update the weights."""
        self.global_steps += 1


def test_the_micro_batch_of_an_engine_is_shown_and_refused(adjusted: Opened) -> None:
    """The agent sees the size with the reason, and an offer for it is vetoed with the same reason."""
    agent, run = adjusted()
    engine = Engine()
    attach(engine, Attachment(run, {}))
    engine.step()
    agent.allow()
    for _ in range(3):
        engine.step()
    value = agent.values()["micro_batch"]
    assert (value["value"], value["choices"], value["blocked"]) == (16, [16], "deepspeed")
    offer = agent.offer("micro_batch", 16, 16, at=run.last_step + 4)
    engine.step()
    engine.step()
    assert agent.answers(offer)[-1] | {"step": 0} == {"kind": "veto", "id": offer, "step": 0, "reason": "deepspeed"}
