import torch
from torch.nn import Module, Transformer, TransformerEncoder, TransformerEncoderLayer


class Decoder(Module):
    def __init__(self, width, layers):
        super().__init__()
        layer = TransformerEncoderLayer(width, 8, batch_first=True)
        self.body = TransformerEncoder(layer, layers)

    def _causal(self, length, device):
        return torch.triu(torch.full((length, length), float("-inf"), device=device), diagonal=1)  # expect: mask-in-forward

    def forward(self, hidden):
        return self.body(hidden, mask=self._causal(hidden.size(1), hidden.device))


class Other(Module):
    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, hidden):
        mask = Transformer.generate_square_subsequent_mask(hidden.shape[1], device=hidden.device)  # expect: mask-in-forward
        return self.body(hidden, mask=mask)
