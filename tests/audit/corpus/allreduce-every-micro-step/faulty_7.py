import torch.distributed as dist


def train_epoch(args, model, loader, optimizer, scaler, device_id):
    """The caller wraps the model."""
    raw = model.module if args.distributed else model
    for step, batch in enumerate(loader):
        loss = model(batch.to(device_id)).mean() / args.accumulate
        scaler.scale(loss).backward()  # expect: allreduce-every-micro-step@note
        if (step + 1) % args.accumulate == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        if dist.get_rank() == 0 and step % 100 == 0:
            print(step, raw.temperature)
