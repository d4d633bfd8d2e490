"""A training script without Flyball. It prints what would show a change of its results, errors or output."""

import random
import sys
import traceback
import warnings

import torch
from torch.utils.data import DataLoader, Dataset


class Noise(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Samples with random augmentation; one of them can fail."""

    def __init__(self, broken: int = -1) -> None:
        self.broken = broken

    def __len__(self) -> int:
        return 48

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        if index == self.broken:
            raise ValueError(f"sample {index} is broken")
        return torch.full((8,), index / 48) + torch.randn(8) * 0.1, torch.tensor(float(index % 2))


def train(workers: int, folder: str, data: Noise) -> list[str]:
    """Train two epochs; return the losses exactly."""
    torch.manual_seed(7)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Dropout(0.2), torch.nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    loader = DataLoader(data, batch_size=8, shuffle=True, num_workers=workers)
    losses = []
    for _ in range(2):
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = torch.nn.functional.binary_cross_entropy_with_logits(model(inputs).squeeze(1), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item().hex())
        torch.save(model.state_dict(), f"{folder}/model.pt")
    return [*losses, float(torch.rand(1)).hex(), str(random.random())]


def main(folder: str) -> None:
    """Train with and without workers, fail in a data set and in saving, and end by Ctrl-C."""
    torch.set_num_threads(1)
    random.seed(7)
    print(sys.argv[1:], __name__, __file__, sys.stdin.read())
    for workers in (0, 2):
        print(train(workers, folder, Noise()))
    for place, data in (("/none", Noise()), (folder, Noise(broken=3))):
        try:
            train(0, place, data)
        except (RuntimeError, ValueError):
            print(traceback.format_exc())
    warnings.warn("a warning of the script", stacklevel=1)
    raise KeyboardInterrupt


if __name__ == "__main__":
    main(sys.argv[1])
