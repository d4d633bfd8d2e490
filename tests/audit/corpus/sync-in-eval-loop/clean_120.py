import torch
from tqdm import tqdm


def fit(net, training, held_out, optimizer, epochs, device="cuda"):
    net = net.to(device)
    for _ in range(epochs):
        with tqdm(training) as bar:
            for x, y in bar:
                optimizer.zero_grad()
                loss = torch.nn.functional.mse_loss(net(x.to(device)), y.to(device))
                loss.backward()
                optimizer.step()
        missed = torch.zeros((), device=device)
        with tqdm(held_out) as bar:
            for number, batch in enumerate(bar):
                x, y = batch[0].to(device), batch[1].to(device)
                with torch.no_grad():
                    out = net(x)
                missed += (out - y).abs().mean().detach()
        print(missed.item() / (number + 1))


def shape(net, start, pieces, wanted, rounds, device="cuda"):
    net, image = net.to(device), start.to(device)
    for each in pieces:
        with torch.no_grad():
            target = net(each.to(device))
        shown = net(image)
        print(float((shown - target).abs().mean()))
    return image
