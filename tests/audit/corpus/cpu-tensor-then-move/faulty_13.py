"""Numbers of the host, put into a tensor there; grids of sizes; also in what is called like a function."""
import torch


class Lookup:
    def __init__(self, radius):
        self.radius = radius

    def __call__(self, coords):
        batch, height, width, _ = coords.shape
        near = torch.linspace(-self.radius, self.radius, 9)
        grid = torch.stack(torch.meshgrid(near, near), dim=-1).to(coords.device)  # expect: cpu-tensor-then-move@note
        return coords.view(batch, 1, 1, 2) + grid


def difference_from_mean(values):
    total = torch.zeros(values.shape).to(values.device)  # expect: cpu-tensor-then-move@note
    return total + values - values.mean()


def train(model, loader, optimizer, metrics, beams):
    model = model.cuda()
    for x, y in loader:
        x, y = x.cuda(), y.cuda()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        for name, value in metrics(model(x), y).items():
            value = torch.Tensor([value]).cuda()  # expect: cpu-tensor-then-move@note
            torch.distributed.all_reduce(value)
        count = torch.tensor(len(x)).cuda()  # expect: cpu-tensor-then-move@note
        starts = torch.tensor([n * beams for n in range(len(x))]).cuda()  # expect: cpu-tensor-then-move@note
        torch.distributed.all_reduce(count + starts.sum())
