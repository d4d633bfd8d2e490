"""Tokens that are made before the loop, or come with the batch."""

import clip
import torch


def contrast(model, loader, optimizer, captions):
    tokens = clip.tokenize(captions).cuda()
    for images, tok in loader:
        loss = torch.nn.functional.mse_loss(model(images.cuda(), tokens), model(images.cuda(), tok.cuda()))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
