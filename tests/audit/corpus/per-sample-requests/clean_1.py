import requests
import torch


def label(texts, url):
    answer = requests.post(f"{url}/labels", json={"texts": list(texts)}, timeout=30)
    return torch.tensor(answer.json()["labels"])


def train(model, loader, optimizer, url):
    for features, texts in loader:
        targets = label(texts, url).cuda()
        torch.nn.functional.cross_entropy(model(features.cuda()), targets).backward()
        optimizer.step()
        optimizer.zero_grad()
