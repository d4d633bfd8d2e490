import tiktoken
import torch


class Trainer:
    def __init__(self, model, optimizer):
        self.encoding = tiktoken.get_encoding("gpt2")
        self.model, self.optimizer = model, optimizer

    def prepare(self, documents):
        return torch.tensor([self.encoding.encode(d)[:512] for d in documents])  # expect: tokenise-in-loop

    def fit(self, batches):
        for documents in batches:
            ids = self.prepare(documents).cuda()
            self.model(ids).mean().backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
