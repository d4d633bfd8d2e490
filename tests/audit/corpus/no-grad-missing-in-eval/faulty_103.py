import torch


class Agent:
    def __init__(self, dqn_model, selector, device="cuda"):
        self.dqn_model = dqn_model
        self.selector = selector
        self.device = device

    def __call__(self, states):
        values = self.dqn_model(torch.tensor(states).to(self.device))  # expect: no-grad-missing-in-eval@note
        return self.selector(values.data.cpu().numpy())


class Trainer:
    def __init__(self, model, criterion, optimizer):
        self.model = model
        self.criterion = criterion
        self.optimizer = optimizer

    def test(self, loader):
        self.model.eval()
        return self.run(loader)  # expect: no-grad-missing-in-eval@note

    def train(self, loader, epochs):
        def learn(loss):
            loss.backward()
            self.optimizer.step()

        for _ in range(epochs):
            self.model.train()
            self.run(loader, learn=learn)

    def run(self, loader, learn=lambda loss: None):
        total = 0
        for x, y in loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x.cuda()), y.cuda())
            learn(loss)
            total += loss.detach()
        return total


def preview(model, train_step, held, steps, every, folder):
    for step in range(steps):
        train_step(step)
        if step % every == 0:
            model.eval()
            pictures = model(next(held).cuda())  # expect: no-grad-missing-in-eval@note
            if pictures.ndim == 5:
                print(pictures.shape)
            else:
                both = torch.stack((pictures, pictures))
                both = both.detach().cpu().clamp(0, 1)
                folder["last"] = both
            model.train()
