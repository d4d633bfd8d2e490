import os

import requests


def fetch_weights(folder):
    """A handful of files, once, before the training: a literal list."""
    for name in ("config.json", "vocab.txt", "model.bin"):
        content = requests.get(f"https://example.org/{name}", timeout=60).content
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)


def train(model, loader, optimizer, url, every=500):
    for step, x in enumerate(loader):
        model(x.cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % every == 0:
            requests.post(url, json={"step": step}, timeout=5)
