import time

import torch


class Engine:
    """Heirs give the model; features are extracted by a function inside the one that evaluates."""

    def __init__(self, use_gpu):
        self.use_gpu = use_gpu
        self.model = None

    def extract(self, images):
        return self.model(images)

    @torch.no_grad()
    def compare(self, query, gallery):
        def features_of(loader):
            kept, names = [], []
            for batch in loader:
                images, labels = batch["image"], batch["label"]
                if self.use_gpu:
                    images = images.cuda()
                started = time.monotonic()
                features = self.extract(images)
                print(time.monotonic() - started)
                kept.append(features.cpu())  # expect: sync-in-eval-loop@note
                names.append(labels)
            return torch.cat(kept), torch.cat(names)

        return features_of(query), features_of(gallery)


class Tasks:
    """Adapts to some tasks and sums up what comes of it: counted turns, and none needs the one before."""

    def __init__(self, learner, criterion):
        self.learner = learner.cuda()
        self.criterion = criterion

    def adapted(self, task):
        x, y = task
        return self.criterion(self.learner(x.cuda()), y.cuda())

    def assess(self, tasks, count):
        error = 0.0
        for _ in range(count):
            found = self.adapted(tasks.sample())
            error += found.item()  # expect: sync-in-eval-loop@note
        return error / count
