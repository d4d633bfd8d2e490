import requests
import torch


def label(texts, url):
    labels = []
    for text in texts:
        answer = requests.post(f"{url}/label", json={"text": text}, timeout=10)  # expect: per-sample-requests@warning
        labels.append(answer.json()["label"])
    return torch.tensor(labels)


def train(model, loader, optimizer, url):
    for features, texts in loader:
        targets = label(texts, url).cuda()
        torch.nn.functional.cross_entropy(model(features.cuda()), targets).backward()
        optimizer.step()
        optimizer.zero_grad()
