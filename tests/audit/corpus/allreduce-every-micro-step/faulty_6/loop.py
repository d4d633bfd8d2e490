def train_one_epoch(args, model, loader, optimizer, device):
    for number, (x, y) in enumerate(loader):
        loss = model(x.to(device), y.to(device)) / args.gradient_accumulation_steps
        loss.backward()  # expect: allreduce-every-micro-step
        if (number + 1) % args.gradient_accumulation_steps == 0 or number == len(loader) - 1:
            optimizer.step()
            optimizer.zero_grad()
