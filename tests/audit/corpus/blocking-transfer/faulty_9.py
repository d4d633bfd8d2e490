import torch
from torch.utils.data import DataLoader


def move(batch, device):
    if torch.is_tensor(batch):
        return batch.to(device)  # expect: blocking-transfer
    if isinstance(batch, dict):
        return {key: move(value, device) for key, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        return [move(each, device) for each in batch]
    return batch


class Trainer:
    def __init__(self, model, train_set, device="cuda"):
        self.model = model
        self.device = device
        self.train_loader = self.build_loader(train_set)
        self.optim = torch.optim.AdamW(self.model.parameters())

    def build_loader(self, dataset):
        return DataLoader(dataset, batch_size=16, num_workers=2, pin_memory=torch.cuda.is_available())

    def run(self):
        for batch in self.train_loader:
            batch = move(batch, self.device)
            loss = self.model(batch)["loss"]
            loss.backward()
            self.optim.step()
            self.optim.zero_grad()
