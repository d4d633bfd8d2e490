import torch
from torch.utils import data


class Experiment:
    def __init__(self, config, dataset, holdout):
        self.config = config
        self.model = torch.nn.Linear(10, 2).cuda()
        self.train_dl = data.DataLoader(dataset, config["batch_size"], True, num_workers=4)
        self.val_dl = data.DataLoader(holdout, 16, False, num_workers=4)  # expect: literal-eval-batch-size

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        return [self.model(x.cuda()) for x, _ in self.val_dl]
