"""Processors of texts and pictures in a pass, and tokens that one generator gives to another."""

from torch import nn


class Reader(nn.Module):
    def forward(self, batch):
        if self.retrieval == "none":
            pages = None
        else:
            pages = self.processor(batch["pages"], batch["words"], padding=True, return_tensors="pt")  # expect: tokenise-in-loop@note
        return self.model(pages)


def batches(ranker, pairs):
    held = []
    for pair in _pairs(ranker, pairs):
        held.append(pair)
        if len(held) == 16:
            yield held
            held = []


def _pairs(ranker, pairs):
    for query, document in pairs:
        yield ranker.tokenize(query), document  # expect: tokenise-in-loop@note


def train(ranker, optimizer, pairs):
    for batch in batches(ranker, pairs):
        loss = ranker(batch).mean()
        loss.backward()
        optimizer.step()
