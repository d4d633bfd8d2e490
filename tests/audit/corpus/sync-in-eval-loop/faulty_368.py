"""An evaluation whose texts are made of what it reads, and a measure that a folder of such holds."""

import torch


def validate(model, loader, decoder, device):
    texts, scores = [], []
    with torch.no_grad():
        for batch in loader:
            given = model(batch["sound"].to(device))
            texts.extend(decoder.decode(given))
            scores.append(given.softmax(-1).cpu().numpy())  # expect: sync-in-eval-loop@note
    return texts, scores
