import torch
import torchvision


class Trainer:
    def __init__(self, loader, device="cuda"):
        self.model = torchvision.models.resnet50(num_classes=100).to(device)  # expect: no-compile@note
        self.loader = loader
        self.device = device
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def epoch(self):
        self.model.train()
        for x, y in self.loader:
            loss = torch.nn.functional.cross_entropy(self.model(x.to(self.device)), y.to(self.device))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
