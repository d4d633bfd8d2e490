import torch
from torch import nn


def train(net, train_data, held_out, epochs, batch_size, device):
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    loss_fn = nn.MSELoss()
    for epoch in range(epochs):
        net.train()
        for start in range(0, len(train_data), batch_size):
            x, y = train_data[start : start + batch_size]
            loss = loss_fn(net(x.to(device)), y.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 5 == 0:
            net.eval()
            total = 0.0
            for start in range(0, len(held_out), batch_size):
                x, y = held_out[start : start + batch_size]
                loss = loss_fn(net(x.to(device)), y.to(device))  # expect: no-grad-missing-in-eval@warning
                total += loss.item() * len(x)
            print(epoch, total / len(held_out))


class Model:
    def __init__(self, net, device):
        self.net, self.device = net.to(device), device

    def predict(self, images):
        self.net.eval()
        masks = []
        for image in images:
            logits = self.net(torch.from_numpy(image)[None].to(self.device))  # expect: no-grad-missing-in-eval
            masks.append(logits.argmax(1).cpu().numpy())
        return masks
