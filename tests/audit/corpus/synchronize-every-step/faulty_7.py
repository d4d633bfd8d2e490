from accelerate import Accelerator


class Trainer:
    def __init__(self, model, optimizer, loader):
        self.accelerator = Accelerator()
        self.model, self.optimizer, self.loader = self.accelerator.prepare(model, optimizer, loader)

    def wait(self):
        """Hold all ranks together."""
        return self.accelerator.wait_for_everyone()  # expect: synchronize-every-step

    def run(self):
        self.wait()
        for batch in self.loader:
            loss = self.model(batch).mean()
            self.accelerator.backward(loss)
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.wait()  # expect: synchronize-every-step@warning
        self.wait()
