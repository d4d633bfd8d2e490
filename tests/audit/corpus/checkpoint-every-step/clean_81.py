import torch


def divisible_by(number, by):
    return number % by == 0


class Trainer:
    def save(self, path):
        torch.save(self.model.state_dict(), path)

    def train(self, loader):
        for steps, x in enumerate(loader):
            is_first_step = steps == 1
            self.model(x.cuda()).mean().backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            if self.is_main and (is_first_step or divisible_by(steps, self.save_and_sample_every)):
                self.save(self.path)
