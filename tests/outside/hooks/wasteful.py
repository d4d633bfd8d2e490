"""A training with two faults that only a measurement can confirm."""

import time

import torch
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Samples that take a while."""

    def __len__(self) -> int:
        return 120

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        time.sleep(0.005)
        return torch.zeros(16), torch.zeros(1)


def train() -> None:
    """Keep each loss with its graph; the loader has no workers, but needs some."""
    torch.set_num_threads(1)
    model = torch.nn.Sequential(*[torch.nn.Linear(16, 16) for _ in range(60)], torch.nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters())
    loader = DataLoader(Squares(), batch_size=2)
    total = 0
    for inputs, labels in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), labels)
        loss.backward()
        optimizer.step()
        total += loss
    print(total)


if __name__ == "__main__":
    train()
