import torch
from torch.utils.data import DataLoader


def predict(ranker, pairs, device):
    """These are not pinned."""
    loader = DataLoader(pairs, batch_size=64, num_workers=2)
    scores = {}
    with torch.no_grad():
        for batch in loader:
            batch = {key: value.to(device) for key, value in batch.items()}
            scores[len(scores)] = ranker.test(batch)
    return scores
