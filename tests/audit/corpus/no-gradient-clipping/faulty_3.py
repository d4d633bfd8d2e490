import torch
from torch.cuda.amp import GradScaler, autocast


class Seq2SeqTrainer:
    def __init__(self, model: torch.nn.Transformer, optimizer):
        self.model = model
        self.encoder = torch.nn.GRU(256, 256).cuda()
        self.optimizer = optimizer
        self.scaler = GradScaler()

    def train(self, loader):
        for source, target in loader:
            self.optimizer.zero_grad()
            with autocast():
                hidden, _ = self.encoder(source.cuda())
                loss = self.model(hidden, target.cuda()).mean()
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)  # expect: no-gradient-clipping@note
            self.scaler.update()
