import torch


class Recorder:
    def __init__(self):
        self.activations = {}
        self.predictions = []


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.recorder = Recorder()
        self.seen_batches = []

    def fit(self, loader, epochs):
        for _ in range(epochs):
            for x, y in loader:
                prediction = self.model(x.cuda())
                torch.nn.functional.mse_loss(prediction, y.cuda()).backward()
                self.optimizer.step()
                self.optimizer.zero_grad()
                self.recorder.predictions.append(prediction.detach().cpu().numpy())  # expect: host-memory-growth@warning
                self.seen_batches.append(x)  # expect: host-memory-growth@warning
