"""Two engines, called for what they train: who is handed a loss to differentiate, and steps, trains."""

import torch

from engines import load


def train(folder, batches, device):
    engine_maker, engine_judge = load(folder, "maker"), load(folder, "judge")
    for batch in batches:
        batch = batch.to(device)
        made, loss = engine_maker(batch)
        engine_maker.backward(loss)
        engine_maker.step()
        judged = engine_judge(batch, made.detach())
        engine_judge.backward(judged)
        engine_judge.step()
        yield {"maker": loss.item(), "judge": judged.item()}  # expect: sync-every-step@warning
