"""Truth of buffers, counts and norms, in modules and in steps."""

import torch
from torch import nn
import torch.nn.functional as F


class Codebook(nn.Module):
    def __init__(self, dim, n):
        super().__init__()
        self.register_buffer("begun", torch.Tensor([False]))
        self.register_buffer("uses", torch.zeros(n))
        self.register_buffer("codes", torch.randn(n, dim))
        self.decay = 0.99

    def begin(self, data):
        if self.begun:  # expect: sync-every-step
            return
        self.begun.data.copy_(torch.Tensor([True]))

    def drop_unused(self, samples):
        unused = self.uses < 2
        if not torch.any(unused):  # expect: sync-every-step
            return
        self.replace(samples, unused)

    def forward(self, x):
        self.begin(x)
        dist = -torch.cdist(x, self.codes)
        ind = dist.max(-1).indices
        self.drop_unused(x)
        if self.training and self.uses.sum() == 0:  # expect: sync-every-step
            x = x * 0
        return x, ind


class MoE(nn.Module):
    def forward(self, hidden_states, gate_logits):
        probs = F.softmax(gate_logits, dim=1)
        top = probs.topk(2)
        counts = top.indices.flatten().bincount().tolist()  # expect: sync-every-step
        out = torch.zeros_like(hidden_states)
        for i, expert in enumerate(self.experts):
            idx, tok = torch.where(top.indices == i)
            if tok.shape[0] == 0:
                continue
            if (probs[:, i] == 0).all():  # expect: sync-every-step
                continue
            out.index_add_(0, tok, expert(hidden_states[tok]))
        return out


class CTC(nn.Module):
    def forward(self, hs, hlens, ys):
        if hlens.max() != hs.size(1):  # expect: sync-every-step
            hlens = hlens.clamp(max=hs.size(1))
        olens = [int(l) for l in hlens]
        return self.ctc(hs, ys, hlens.cpu(), olens)  # expect: sync-every-step


class Encoder(nn.Module):
    def forward(self, x, x_len):
        packed = nn.utils.rnn.pack_padded_sequence(x, x_len.cpu(), batch_first=True)  # expect: sync-every-step
        return self.rnn(packed)[0]


class Trainer:
    def train_step(self, batch):
        loss, stats, weight = self.model(**batch)
        if not torch.isfinite(loss):  # expect: sync-every-step
            return {}
        stats = {k: v.item() for k, v in stats.items()}  # expect: sync-every-step
        assert not torch.isnan(loss), "x"  # expect: sync-every-step
        loss.backward()
        grad_norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        if not torch.isfinite(grad_norm):  # expect: sync-every-step
            return stats
        if grad_norm > 100:  # expect: sync-every-step
            self.spikes += 1
        self.optimizer.step()
        msg = "loss {:.3f}".format(loss)  # expect: sync-every-step
        self.logger.info("grad norm %s", grad_norm)  # expect: sync-every-step
        tqdm.write(str(loss))  # expect: sync-every-step
        return stats


def train_ddp(rank, model, loader, opt, writer, cfg):
    model = nn.parallel.DistributedDataParallel(model.to(rank))
    for it, (x, y) in enumerate(loader):
        x, y = x.to(rank), y.to(rank)
        out = model(x)
        loss = F.cross_entropy(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if cfg.log_losses:
            writer.add_scalar("l", loss, it)  # expect: sync-every-step
        if cfg.verbose_metrics and rank == 0:
            acc = (out.argmax(1) == y).float().mean().item()
        if it % cfg.print_every == 0:
            print(loss.item())
        dist.all_reduce(loss)
        running = running * 0.9 + loss.item() * 0.1 if it else loss.item()  # expect: sync-every-step
        lr_scale = max(loss.item(), 1e-3)  # expect: sync-every-step
        history["loss"].append(float(loss))  # expect: sync-every-step
        if loss < best:  # expect: sync-every-step
            best = loss
