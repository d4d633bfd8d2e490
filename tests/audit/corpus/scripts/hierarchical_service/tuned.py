"""A learner in levels: a batch's paths through a tree are asked of a service at once, the next while one is trained."""

import argparse
import logging
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor

import requests
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

logger = logging.getLogger("learner")


class TreeService:
    """The tree's state lives in another process; every call is for many samples."""

    def __init__(self, url, timeout=5.0):
        self.url = url.rstrip("/")
        self.timeout = timeout
        self.session = requests.Session()

    def routes(self, keys):
        answer = self.session.post(f"{self.url}/routes", json={"keys": keys}, timeout=self.timeout)
        answer.raise_for_status()
        found = answer.json()
        return torch.tensor(found["nodes"]), torch.tensor(found["values"])

    def update(self, nodes, regrets):
        body = {"nodes": nodes, "regrets": regrets}
        self.session.post(f"{self.url}/regrets", json=body, timeout=self.timeout).raise_for_status()


class Journal:
    """Keeps what was learnt of each node; a transaction for many steps."""

    def __init__(self, path):
        self.connection = sqlite3.connect(path)
        self.connection.execute("CREATE TABLE IF NOT EXISTS visits (step INTEGER, node INTEGER, loss REAL)")

    def write(self, rows):
        with self.connection:
            self.connection.executemany("INSERT INTO visits VALUES (?, ?, ?)", rows)


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


def ahead(loader, service, pool):
    """Batches with the service's answers; the next one's are under way while one is trained."""
    waiting = None
    for keys, features in loader:
        asked = pool.submit(service.routes, keys.tolist())
        if waiting is not None:
            yield waiting[0], waiting[1].result()
        waiting = (features, asked)
    if waiting is not None:
        yield waiting[0], waiting[1].result()


class Ledger:
    """Errors of some steps, on the device until they are told."""

    def __init__(self, service, journal, pool):
        self.service, self.journal, self.pool = service, journal, pool
        self.kept = []

    def add(self, step, nodes, errors):
        self.kept.append((step, nodes, errors.detach()))

    def tell(self):
        losses = torch.cat([errors for _, _, errors in self.kept]).tolist()
        nodes = torch.cat([nodes for _, nodes, _ in self.kept]).tolist()
        steps = [step for step, each, _ in self.kept for _ in range(len(each))]
        self.kept.clear()
        self.journal.write(list(zip(steps, nodes, losses, strict=True)))
        self.pool.submit(self.service.update, nodes, losses)


def train(model, loader, optimizer, service, ledger, pool, args):
    device = torch.device(args.device)
    since, samples = time.perf_counter(), 0
    step = 0
    for _epoch in range(args.epochs):
        for features, (nodes, values) in ahead(loader, service, pool):
            with torch.autocast(device.type, dtype=torch.bfloat16):
                prediction = model(features.to(device, non_blocking=True), nodes.to(device, non_blocking=True))
            target = values.to(device, non_blocking=True)
            errors = nn.functional.mse_loss(prediction.float(), target, reduction="none")
            loss = errors.mean()
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            ledger.add(step, nodes, errors)
            samples += len(nodes)
            step += 1
            if step % args.tell_every == 0:
                ledger.tell()
                now = time.perf_counter()
                logger.info("step %d: loss %.4f, %.1f samples/s", step, loss.item(), samples / (now - since))
                since, samples = now, 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("samples")
    parser.add_argument("--url", default="http://localhost:8080")
    parser.add_argument("--journal", default="journal.db")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--tell-every", type=int, default=50)
    parser.add_argument("--epochs", type=int, default=10)
    args = parser.parse_args()

    keys, features = torch.load(args.samples)
    loader = DataLoader(TensorDataset(keys, features), batch_size=args.batch_size, shuffle=True, pin_memory=True)
    model = torch.compile(Hierarchy(features.size(1), 4096, 6).to(args.device))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    service = TreeService(args.url)
    with ThreadPoolExecutor(4) as pool:
        ledger = Ledger(service, Journal(args.journal), pool)
        train(model, loader, optimizer, service, ledger, pool, args)
        ledger.tell()
    torch.save(model.state_dict(), "hierarchy.pt")


if __name__ == "__main__":
    main()
