"""The last part is made as long as the others, where it is too short."""

import torch


def parts(tokens, count, size):
    stack = []
    for number in range(count):
        stack.append(tokens[:, number * size : (number + 1) * size])
        if stack[-1].shape[1] != size:
            stack[-1] = torch.cat([stack[-1], torch.zeros_like(tokens[:, : size - stack[-1].shape[1]])], dim=1)
    return torch.cat(stack, dim=0)


def written(model, tokens, longest):
    while tokens.shape[1] < longest:
        tokens = torch.cat([tokens, model(tokens).argmax(-1)[:, -1:]], dim=1)
    return tokens
