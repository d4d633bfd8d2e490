from torch.utils.data import DataLoader


def main(dataset, args, model, optimizer):
    kept = DataLoader(dataset, batch_size=64, num_workers=8, persistent_workers=True)
    depends = DataLoader(dataset, batch_size=64, num_workers=args.workers, persistent_workers=args.workers > 0)
    without = DataLoader(dataset, batch_size=64, num_workers=0)
    for _ in range(args.epochs):
        for loader in (kept, depends, without):
            for x in loader:
                model(x.cuda()).mean().backward()
                optimizer.step()
                optimizer.zero_grad()
