def train(generator, discriminator, optim_g, optim_d, criterion, loader, repeats):
    """The discriminator's sum begins anew for each batch: the graphs of a few updates."""
    generator.cuda()
    discriminator.cuda()
    for x, y in loader:
        optim_g.zero_grad()
        made = generator(x.cuda())
        criterion(discriminator(made), y.cuda()).backward()
        optim_g.step()
        if repeats > 0:
            total = 0.0
            for _ in range(repeats):
                optim_d.zero_grad()
                loss = criterion(discriminator(made.detach()), y.cuda())
                loss.backward()
                optim_d.step()
                total += loss
            print(repeats, len(loader))
