import torch

from exchange import accumulate


def test_gradients_are_exchanged(model, twin, loader, optimizer):
    for batch in loader:
        accumulate(model, batch).backward()
        optimizer.step()
        for one, other in zip(model.parameters(), twin.parameters()):
            assert torch.allclose(one.grad, other.grad)


def test_gradients_are_held_back(model, twin, loader, optimizer):
    for batch in loader:
        accumulate(model, batch).backward()
        optimizer.step()
        for one, other in zip(model.parameters(), twin.parameters()):
            assert not torch.allclose(one.grad, other.grad)


if __name__ == "__main__":
    test_gradients_are_exchanged(*torch.load("setup.pt"))
    test_gradients_are_held_back(*torch.load("setup.pt"))
