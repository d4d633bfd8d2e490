import torch


class Trainer:
    def __init__(self, model, optimizer, folder):
        self.model, self.optimizer, self.folder = model, optimizer, folder

    def save(self, step):
        torch.save(self.model.state_dict(), self.folder / f"{step}.pt")  # expect: checkpoint-every-step@warning

    def fit(self, batches):
        for step, batch in enumerate(batches):
            self.model(batch.cuda()).mean().backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.save(step)
