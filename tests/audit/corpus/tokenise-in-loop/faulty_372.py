"""A function of another file that tokenises each batch, as its name tells."""

import torch
from helpers import bert_tokenize_for_valid_examples


def train(model, optimizer, batches):
    for labels, sentences in batches:
        rows = bert_tokenize_for_valid_examples(labels, sentences)  # expect: tokenise-in-loop@note
        loss = model(rows.cuda()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.cuda.nvtx.mark("step")
