"""The like of a step that is handed no batch: a queue is fed, a game is stepped."""

import torch


class Game:
    def __init__(self, network, device):
        self.network, self.device = network.to(device), device
        self.board = torch.zeros(8, 8, device=device)

    def step(self, move):
        self.board[move] = 1
        return self.network(self.board).argmax().item()

    def feed(self, queue):
        queue.put(self.board.cpu())
