"""Tokenisers that are functions of a library, and one that is called by a short name."""

import clip
import open_clip
import torch


class Trainer:
    def __init__(self, model, tok):
        self.model, self.tok = model, tok

    def prepared(self, texts):
        return self.tok(texts, padding=True, return_tensors="pt")  # expect: tokenise-in-loop@note

    def fit(self, loader, optimizer):
        for texts, labels in loader:
            loss = self.model(**self.prepared(texts), labels=labels.cuda()).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()


def contrast(model, loader, optimizer):
    tokenize = open_clip.get_tokenizer("ViT-B-32")
    for images, captions, titles in loader:
        tokens = clip.tokenize(captions).cuda()  # expect: tokenise-in-loop
        named = tokenize(titles).cuda()  # expect: tokenise-in-loop
        loss = torch.nn.functional.mse_loss(model(images.cuda(), tokens), model(images.cuda(), named))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
