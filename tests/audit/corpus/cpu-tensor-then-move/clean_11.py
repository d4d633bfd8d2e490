"""Lists of data must travel, however they are put into a tensor."""
import torch


def train(model, episodes, optimizer, tokenizer):
    model = model.cuda()
    for episode in episodes:
        tokens = torch.tensor([episode.token_ids]).cuda()
        window = torch.tensor([episode.ids[:64]]).cuda()
        rewards = torch.tensor(episode.rewards).cuda()
        many = torch.tensor([tokenizer.encode(text) for text in episode.texts]).cuda()
        loss = (model(tokens) * rewards).mean() + model(window).mean() + model(many).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
