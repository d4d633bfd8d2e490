import torch


def gaps(loader, potential):
    """How far energies and forces are from what was computed for the molecules."""
    found = []
    for batch in loader:
        found += potential(batch["positions"], batch["species"]).data.cpu().numpy().tolist()
    return found


def mean_gap(loader, potential):
    return torch.tensor(gaps(loader, potential)).mean()
