from accelerate import Accelerator


class Trainer:
    def __init__(self, model, optimizer, loader, steps=4):
        self._accelerator = Accelerator()
        self.model, self.optimizer, self.loader = self._accelerator.prepare(model, optimizer, loader)
        self.steps = steps

    def back(self, loss):
        self._accelerator.backward(loss)  # expect: allreduce-every-micro-step@warning

    def run(self):
        for number, batch in enumerate(self.loader):
            self.back(self.model(**batch).loss / self.steps)
            if (number + 1) % self.steps == 0 or number + 1 == len(self.loader):
                self.optimizer.step()
                self.optimizer.zero_grad()


def train(accelerator, model, optimizer, loader, gradient_accumulation_steps):
    for step, batch in enumerate(loader):
        loss = model(**batch).loss / gradient_accumulation_steps
        accelerator.backward(loss)  # expect: allreduce-every-micro-step@warning
        if step % gradient_accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
