import torch


def save_buffer(buffer, path):
    torch.save([each.cpu() for each in buffer.states], path)


class Learner:
    """Keys are texts, lists are asked whether they are empty, numbers are numbers."""

    def __init__(self, net, optimizer, smooth=0.9):
        self.net, self.optimizer, self.smooth = net.cuda(), optimizer, smooth
        self.history = {"loss": []}

    def batch(self, images, boxes):
        boxes = [each.cuda() for each in boxes]
        parts = self.net(images.cuda(), boxes)
        total = torch.zeros((), device="cuda")
        if boxes and "valid" in boxes[0]:
            total = total + 1
        for key, part in parts.items():
            name = f"train/{key}"
            total += part * self.scale(name)
        for loss_name in parts:
            self.history.setdefault(f"{loss_name}_all", [])
        return total

    def scale(self, x):
        if isinstance(x, torch.Tensor):
            return x.clamp(0, 1)
        if x < "m":
            return 1.0
        return 0.5

    def train(self, loader, steps, save_freq, may_save=True):
        for training_step, (images, boxes) in enumerate(loader):
            loss = self.batch(images, boxes)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if not loss.is_cuda:
                self.history["loss"].append(loss.cpu())
            if may_save and (training_step % save_freq == 0 or training_step == steps):
                save_buffer(loader.buffer, "buffer.pt")
