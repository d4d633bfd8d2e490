from torch import nn, optim
from torch.utils.data import DataLoader


class PriceTrainer:
    """Fits a small network; it stays on the host, where reading a loss costs nothing."""

    def __init__(self, network: nn.Module) -> None:
        self.network = network
        self.history = []

    def fit(self, prices, epochs=10):
        loader = DataLoader(prices, batch_size=64, shuffle=True)
        optimizer = optim.Adam(self.network.parameters())
        lowest = float("inf")
        for _ in range(epochs):
            for paths, payoff in loader:
                optimizer.zero_grad()
                loss = nn.functional.mse_loss(self.network(paths), payoff)
                loss.backward()
                optimizer.step()
                self.history.append(loss.item())  # expect: sync-every-step@note
                lowest = min(lowest, loss.item())  # expect: sync-every-step@note
        return lowest
