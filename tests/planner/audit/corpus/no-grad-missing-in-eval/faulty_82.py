import torch.nn as nn


def before_training(model, criterion, dataset, device):
    total = 0
    for x, y in dataset["train"]:  # expect: no-grad-missing-in-eval@warning
        model.eval()
        loss = criterion(model(x.to(device)), y.to(device))
        total += loss.item()
    return total
