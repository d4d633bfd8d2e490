import torch


def train(model, critic, loader, opt, critic_opt):
    """Two optimisers: the scaled one is unscaled by a helper, the other is not scaled at all."""
    scaler = torch.cuda.amp.GradScaler()

    def prepare():
        scaler.unscale_(opt)

    for x in loader:
        with torch.autocast("cuda"):
            loss = model(x.cuda()).mean()
        scaler.scale(loss).backward()
        prepare()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()
