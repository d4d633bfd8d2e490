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
        missed = 0.0
        with tqdm(held_out) as bar:
            for number, batch in enumerate(bar):
                x, y = batch[0].to(device), batch[1].to(device)
                with torch.no_grad():
                    out = net(x)
                missed += (out - y).abs().mean().item()  # expect: sync-in-eval-loop
        print(missed / (number + 1))
