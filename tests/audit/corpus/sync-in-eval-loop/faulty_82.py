import torch


def mean_average(targets, preds, k):
    return (targets.gather(1, preds.topk(k).indices).float().mean()).item()


def mean_precision(targets, preds, k):
    found = targets.gather(1, preds.topk(k).indices).float()
    return found.mean().item()  # expect: sync-in-eval-loop@note


def score_dataset(loader, distance):
    scores = []
    for data in loader.load_data():
        scores += distance(data["first"], data["second"]).data.tolist()  # expect: sync-in-eval-loop@note
    return scores


def before_training(model, criterion, dataset, device):
    total = 0
    for x, y in dataset["train"]:
        model.eval()
        loss = criterion(model(x.to(device)), y.to(device))
        total += loss.item()  # expect: sync-in-eval-loop@note
    return total
