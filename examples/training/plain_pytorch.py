"""A small language model in plain PyTorch that reports to Flyball. It learns this file, letter by letter.

python examples/training/plain_pytorch.py --steps 200
"""

import argparse
import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

import flyball

LENGTH = 32  # letters in a sample


class Letters(Dataset[torch.Tensor]):
    """Overlapping pieces of a text, as numbers."""

    def __init__(self, text: str) -> None:
        self.letters = torch.tensor([ord(letter) % 128 for letter in text])

    def __len__(self) -> int:
        return len(self.letters) - LENGTH

    def __getitem__(self, start: int) -> torch.Tensor:
        return self.letters[start : start + LENGTH + 1]


class Model(nn.Module):
    """A recurrent network that predicts the next letter."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(128, 64)
        self.layers = nn.GRU(64, 64, batch_first=True)
        self.head = nn.Linear(64, 128)

    def forward(self, letters: torch.Tensor) -> torch.Tensor:
        hidden, _ = self.layers(self.embedding(letters[:, :-1]))
        return nn.functional.cross_entropy(self.head(hidden).flatten(0, 1), letters[:, 1:].flatten())


def train(steps: int, folder: Path) -> None:
    """Train, and report each step and its parts."""
    torch.manual_seed(7)
    loader = DataLoader(Letters(Path(__file__).read_text(encoding="utf-8")), batch_size=16, shuffle=True)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.003)
    step = 0
    with flyball.run("plain-pytorch", total_steps=steps) as run:
        while step < steps:
            for letters in run.data(loader):  # measures the wait for each batch
                loss = model(letters)
                run.mark("forward")  # what came before it was the forward pass
                optimizer.zero_grad()
                loss.backward()
                run.mark("backward")
                optimizer.step()
                run.mark("optimizer")
                run.step(tokens=letters[:, 1:].numel(), samples=len(letters), loss=loss)
                step += 1
                print(f"step {step:>3}  loss {loss.item():.9g}")
                if step == steps:
                    break
                if step % 50 == 0:
                    with run.section("checkpoint"):
                        torch.save(model.state_dict(), folder / "model.pt")


def main() -> None:
    """Read the options and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        train(options.steps, Path(folder))


if __name__ == "__main__":
    main()
