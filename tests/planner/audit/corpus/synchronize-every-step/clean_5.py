from accelerate import Accelerator


class Trainer:
    def __init__(self, model, optimizer, loader):
        self.accelerator = Accelerator()
        self.model, self.optimizer, self.loader = self.accelerator.prepare(model, optimizer, loader)

    def wait(self):
        return self.accelerator.wait_for_everyone()

    def run(self):
        for step, batch in enumerate(self.loader):
            loss = self.model(batch).mean()
            self.accelerator.backward(loss)
            self.optimizer.step()
            self.optimizer.zero_grad()
            if step % 1000 == 0:
                self.wait()
                self.accelerator.save_state("here")
        self.wait()
