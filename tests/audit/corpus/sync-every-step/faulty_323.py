"""Each batch makes several steps in a loop of their own: what is read beside that is read for every batch."""

import torch


def train(encoder, decoder, loader, optimizers, meters, turns, device="cuda"):
    encoder.to(device)
    decoder.to(device)
    for batch in loader:
        x = batch.to(device)
        for _ in range(turns):
            loss = (decoder(encoder(x).detach()) - x).pow(2).mean()
            optimizers["decoder"].zero_grad()
            loss.backward()
            optimizers["decoder"].step()
        with torch.no_grad():
            spread = encoder(x).std()
        meters["loss"].update(loss.item())  # expect: sync-every-step@warning
        meters["spread"].update(spread.item())  # expect: sync-every-step@warning
