import torch


def gan(generator, critic, g_opt, c_opt, loader):
    """The generator's loss goes through the same graph."""
    for real in loader:
        fake = generator(torch.randn(len(real), 64, device="cuda"))
        c_loss = critic(fake).mean() - critic(real.cuda()).mean()
        c_opt.zero_grad()
        c_loss.backward(retain_graph=True)
        c_opt.step()
        g_loss = -critic(fake).mean()
        g_opt.zero_grad()
        g_loss.backward()
        g_opt.step()
