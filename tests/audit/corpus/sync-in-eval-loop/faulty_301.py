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


class Base:
    """The model is the heirs'; what it takes comes of a method that is theirs as well."""

    def __init__(self):
        self.model = None
        self.prepared = None

    @torch.no_grad()
    def evaluate(self, loader):
        kept = []
        for batch in loader:
            found = self.model(self.prepared(batch))
            kept.append(found.argmax(1).tolist())  # expect: sync-in-eval-loop@note
        return kept


class Extractor:
    """Nobody knows what extracts, but that it takes what may lie on the device."""

    def __init__(self, made, use_gpu):
        self.extract = made()
        self.use_gpu = use_gpu

    def gather(self, loader):
        found = []
        with torch.no_grad():
            for batch in loader:
                if self.use_gpu:
                    batch = batch.cuda()
                found.append(self.extract(batch).mean(0).tolist())  # expect: sync-in-eval-loop@note
        return found
