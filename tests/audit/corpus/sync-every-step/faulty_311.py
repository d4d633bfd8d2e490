from torch.nn.utils import clip_grad_norm_


def clipping_of(net, most, limit=1e2):
    """Whoever trains calls it in each step: nobody clips gradients otherwise."""

    def clip():
        norm = clip_grad_norm_(net.parameters(), most)
        return {"norm": norm.item()}  # expect: sync-every-step@note

    return clip
