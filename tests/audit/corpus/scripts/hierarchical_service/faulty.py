"""A learner in levels: each sample's path through a tree is asked of a service, and its regret is written back."""

import argparse
import logging
import sqlite3
import time

import requests
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

logger = logging.getLogger("learner")


class TreeService:
    """The tree's state lives in another process."""

    def __init__(self, url, timeout=5.0):
        self.url = url.rstrip("/")
        self.timeout = timeout

    def route(self, key):
        answer = requests.get(f"{self.url}/route/{key}", timeout=self.timeout)
        answer.raise_for_status()
        return answer.json()["node"]

    def value(self, node):
        answer = requests.get(f"{self.url}/nodes/{node}/value", timeout=self.timeout)
        answer.raise_for_status()
        return answer.json()["value"]

    def update(self, node, regret):
        requests.post(f"{self.url}/nodes/{node}/regret", json={"regret": regret}, timeout=self.timeout)


class Journal:
    """Keeps what was learnt of each node."""

    def __init__(self, path):
        self.connection = sqlite3.connect(path)
        self.connection.execute("CREATE TABLE IF NOT EXISTS visits (step INTEGER, node INTEGER, loss REAL)")

    def write(self, step, node, loss):
        self.connection.execute("INSERT INTO visits VALUES (?, ?, ?)", (step, node, loss))
        self.connection.commit()


class Level(nn.Module):
    def __init__(self, width, nodes):
        super().__init__()
        self.embedding = nn.Embedding(nodes, width)
        self.body = nn.Sequential(nn.Linear(2 * width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width))

    def forward(self, x, node):
        return x + self.body(torch.cat([x, self.embedding(node)], dim=-1))


class Hierarchy(nn.Module):
    def __init__(self, width, nodes, depth):
        super().__init__()
        self.levels = nn.ModuleList([Level(width, nodes) for _ in range(depth)])
        self.head = nn.Linear(width, 1)

    def forward(self, x, node):
        for level in self.levels:
            x = level(x, node)
        return self.head(x).squeeze(-1)


def targets(service, keys):
    """The node and the value of each sample, as the service knows them."""
    nodes, values = [], []
    for key in keys.tolist():
        node = service.route(key)  # expect: per-sample-requests@warning
        nodes.append(node)
        values.append(service.value(node))  # expect: per-sample-requests@warning
    return torch.tensor(nodes), torch.tensor(values)


def train(model, loader, optimizer, service, journal, args):
    device = torch.device(args.device)
    start = time.time()
    seen = 0
    step = 0
    for _epoch in range(args.epochs):
        for keys, features in loader:
            nodes, values = targets(service, keys)
            prediction = model(features.to(device), nodes.to(device))  # expect: no-mixed-precision@note
            errors = nn.functional.mse_loss(prediction, values.to(device), reduction="none")
            loss = errors.mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            for node, error in zip(nodes.tolist(), errors, strict=True):
                service.update(node, error.item())  # expect: per-sample-requests@warning, sync-every-step@warning
                journal.write(step, node, float(error))  # expect: per-item-database-writes@warning, sync-every-step@warning
            seen += len(keys)
            step += 1
            if loss.item() > args.limit:  # expect: sync-every-step@warning
                logger.warning("step %d: loss above %.1f", step, args.limit)
            if step % 20 == 0:
                logger.info("step %d, %.1f samples/s", step, seen / (time.time() - start))  # expect: cumulative-speed-log


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("samples")
    parser.add_argument("--url", default="http://localhost:8080")
    parser.add_argument("--journal", default="journal.db")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--limit", type=float, default=100.0)
    args = parser.parse_args()

    keys, features = torch.load(args.samples)
    loader = DataLoader(TensorDataset(keys, features), batch_size=4, shuffle=True)  # expect: small-batch
    model = Hierarchy(features.size(1), 4096, 6).to(args.device)  # expect: no-compile@note
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    train(model, loader, optimizer, TreeService(args.url), Journal(args.journal), args)
    torch.save(model.state_dict(), "hierarchy.pt")


if __name__ == "__main__":
    main()
