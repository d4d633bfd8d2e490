"""Gradients are taken at some of the turns of a forecast, of all perhaps: what is read there is read with every gradient."""

import torch


def train(model, criterion, loader, optimizer, steps, with_gradient, device):
    logs = {}
    for batch in loader:
        state = batch["x"].to(device)
        for forecast_step in range(steps):
            predicted = model(state)
            if forecast_step in with_gradient:
                loss = criterion(predicted, batch["y"].to(device)).mean()
                logs["loss"] = loss.item()  # expect: sync-every-step@note
                loss.backward()
            state = predicted.detach()
        optimizer.step()
        optimizer.zero_grad()
    return logs
