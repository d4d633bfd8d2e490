import torch


def get_attn_subsequent_mask(seq):
    shape = [seq.size(0), seq.size(1), seq.size(1)]
    mask = torch.triu(torch.ones(shape), diagonal=1)  # expect: mask-in-forward@note
    return mask.cuda() if seq.is_cuda else mask
