import torch
from torch import nn


def fit(generator, critic, images, optimizers, steps, device="cuda"):
    generator, critic = generator.to(device), critic.to(device)
    criterion = nn.BCEWithLogitsLoss()
    for number, (real, _) in enumerate(images):
        real = real.to(device)
        made = generator(torch.randn(len(real), 64, device=device))
        critic_loss = criterion(critic(real), torch.ones(len(real), 1, device=device))
        critic_loss.backward()
        optimizers["critic"].step()
        maker_loss = criterion(critic(made), torch.ones(len(real), 1, device=device))
        maker_loss.backward()
        optimizers["maker"].step()
        print("[%d/%d] critic %.4f" % (number, steps, critic_loss))  # expect: sync-every-step@warning
        line = "maker {:.4f}".format(maker_loss)  # expect: sync-every-step@warning
        if any(torch.isnan(each) for each in (critic_loss, maker_loss)):  # expect: sync-every-step@warning
            raise FloatingPointError(line)
