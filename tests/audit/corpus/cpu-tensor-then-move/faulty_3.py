import torch as t


def hidden(batch, layers, width, device):
    return t.zeros(layers, batch, width).to(device)  # expect: cpu-tensor-then-move


def train(rnn, loader, optimizer):
    device = t.device("cuda:0")
    for x, y in loader:
        state = hidden(x.size(0), 2, 512, device)
        out, _ = rnn(x.to(device), state)
        loss = t.nn.functional.mse_loss(out, y.to(device))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
