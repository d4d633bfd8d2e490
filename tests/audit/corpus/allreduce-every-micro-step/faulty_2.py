import torch
import torch.distributed as dist
from torch import nn


class Trainer:
    def __init__(self, model: nn.Module, config, device):
        dist.init_process_group("nccl")
        self.config = config
        self.model = nn.parallel.DistributedDataParallel(model.to(device), device_ids=[device])
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=config.lr)
        self.scaler = torch.amp.GradScaler("cuda")

    def train(self, batches):
        for _step in range(self.config.steps):
            for _micro in range(self.config.gradient_accumulation_steps):
                x, y = next(batches)
                with torch.autocast("cuda", dtype=torch.float16):
                    loss = self.model(x, y) / self.config.gradient_accumulation_steps
                self.scaler.scale(loss).backward()  # expect: allreduce-every-micro-step@warning
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad(set_to_none=True)
