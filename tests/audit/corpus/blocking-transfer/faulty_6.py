import torch
from torch.utils.data import DataLoader


def get_device():
    if torch.cuda.is_available():
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cpu")


def to_device(batch, device):
    return {key: value.to(device) for key, value in batch.items()}  # expect: blocking-transfer


class Runner:
    def __init__(self, model, dataset, args):
        self.model = model.to(get_device())
        self.device = get_device()
        self.args = args
        self.loader = DataLoader(dataset, batch_size=args.batch, num_workers=8, pin_memory=True)
        self.optimizer = torch.optim.AdamW(model.parameters())

    def fit(self):
        for batch in self.loader:
            batch = to_device(batch, self.device)
            mask = batch["mask"]
            loss = self.model(batch["x"], mask)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()

    def fit_pairs(self):
        for images, target in self.loader:
            images = images.to(get_device())  # expect: blocking-transfer
            target = target.to(self.args.device, dtype=torch.long)  # expect: blocking-transfer
            loss = torch.nn.functional.cross_entropy(self.model(images), target)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
