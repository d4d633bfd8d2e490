import torch
from rankings import Queries

device, gpu = "cuda", True


def train_ranker(ranker, train_data, epoch):
    for number, features, labels in train_data:
        if gpu:
            features, labels = features.to(device), labels.to(device)
        if torch.nonzero(labels).size(0) <= 0:  # expect: sync-every-step
            continue
        ranker.train(features, labels, epoch=epoch, number=number)


def main(ranker, path):
    train_data = Queries(path, presort=True)
    for epoch in range(3):
        train_ranker(ranker, train_data, epoch)
