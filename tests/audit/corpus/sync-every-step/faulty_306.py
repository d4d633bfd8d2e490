import torch
from pytorch_transformers import BertForTokenClassification


class Tagger(BertForTokenClassification):
    """A model of a library by its former name."""

    def forward(self, ids, valid=None):
        hidden = self.bert(ids)[0]
        if torch.any(hidden.sum(-1) == 0).item():  # expect: sync-every-step
            hidden = hidden + 1
        return self.classifier(hidden)
