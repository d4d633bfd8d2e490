import torch

from model import Net

net = Net().cuda()


@torch.no_grad()
def play(world, moves):
    """A game needs each move before it can tell the next state."""
    net.eval()
    state = world.reset()
    for _ in range(moves):
        move = net(torch.as_tensor(state).cuda()).argmax().item()
        state = world.advance(move)
    return state
