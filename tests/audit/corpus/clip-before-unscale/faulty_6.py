import torch


class Learner:
    def __init__(self, net, optimizer, clip=1.0):
        self.net, self.optimizer, self.clip = net, optimizer, clip
        self.amp_scaler = torch.cuda.amp.GradScaler()

    def _clip_gradients(self):
        if self.clip > 0:
            torch.nn.utils.clip_grad_norm_(self.net.parameters(), self.clip)  # expect: clip-before-unscale

    def learn(self, batch):
        with torch.autocast("cuda"):
            loss = self.net(batch).mean()
        self.backward(loss)
        self._clip_gradients()
        self.amp_scaler.step(self.optimizer)
        self.amp_scaler.update()

    def backward(self, loss):
        self.optimizer.zero_grad()
        self.amp_scaler.scale(loss).backward()
