import torch


class Loop:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.scaler = torch.amp.GradScaler("cuda")

    def run(self, batches):
        for batch in batches:
            with torch.autocast("cuda"):
                loss = self.model(batch.cuda()).mean()
            self.scaler.scale(loss).backward(retain_graph=True)  # expect: retain-graph-every-step
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad()
