import torch
from torch import nn


class LanguageModel(nn.Module):
    def __init__(self, vocabulary, width):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.rnn = nn.LSTM(width, width, num_layers=2, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


def train(batches):
    model = LanguageModel(10_000, 512).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    for ids, targets in batches:
        optimizer.zero_grad()
        logits = model(ids.cuda())
        nn.functional.cross_entropy(logits.flatten(0, 1), targets.cuda().flatten()).backward()
        optimizer.step()  # expect: no-gradient-clipping@note
