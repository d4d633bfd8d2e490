import torch


def scores_of(rows, finder, width, device):
    """Row by row, with a start that is made anew for each."""
    found = []
    for row in rows:
        start = torch.zeros((1, width)).to(device)  # expect: cpu-tensor-then-move@note
        found.append(finder(torch.as_tensor(row, device=device), start))
    return torch.stack(found)
