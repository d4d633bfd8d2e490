import json
import math

import torch
from sklearn.cluster import KMeans
from torch.nn import functional


def spectrogram(waves):
    if torch.min(waves) < -1.0:  # expect: sync-every-step@warning
        print("the least is", torch.min(waves))  # expect: sync-every-step@note
    return torch.stft(waves, 1024, return_complex=True).abs()


def padded(tokens, lengths):
    longest = lengths.max().item()  # expect: sync-every-step@note
    room = torch.zeros(len(tokens), longest, device=tokens.device)
    missing = lengths.sum().item()  # expect: sync-every-step@note
    more = missing - tokens.shape[1]
    return functional.pad(tokens, (0, more)) + room.sum()


def cut(scores, lengths):
    most = lengths.max()
    if scores.shape[1] != most:  # expect: sync-every-step@note
        scores = scores.narrow(dim=1, start=0, length=most)
    return scores


class Trainer:
    """What the host needs for its own work, what is said once, and settings of what was moved, are no faults."""

    def __init__(self, model, encoder, optimizer, peer, writer):
        self.model = model.cuda()
        self.encoder = encoder.cuda()
        self.optimizer = optimizer
        self.peer = peer
        self.writer = writer
        self.shows = True

    def train(self, loader):
        for waves, lengths in loader:
            waves, lengths = waves.cuda(), lengths.cuda()
            output = self.model(spectrogram(waves))
            loss = cut(padded(output, lengths), lengths).mean()
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            print(loss.item())  # expect: sync-every-step@warning
            found = output.detach().cpu().numpy()  # expect: sync-every-step@note
            centres = KMeans(8).fit(found)
            self.peer.sendall(json.dumps({"output": output.tolist()}))  # expect: sync-every-step@note
            chunks = math.ceil(waves.shape[1] / self.encoder.factor)
            if self.shows and self.writer is not None:
                self.shows = False
                self.writer.add_image(output[0].cpu(), chunks, centres)
