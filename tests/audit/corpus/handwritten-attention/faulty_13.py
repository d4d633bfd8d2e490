def attention(q, k, v, biases, device):
    """Channels first, and a bias of positions."""
    weights = (q.transpose(-2, -1) @ k) * q.shape[-2] ** -0.5 + biases.attention_bias(device)  # expect: handwritten-attention@note
    weights = weights.softmax(dim=-1)
    return v @ weights.transpose(-2, -1)
