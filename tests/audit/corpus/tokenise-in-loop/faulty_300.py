class Trainer:
    """The tokeniser is a part of what is trained."""

    def __init__(self, actor, optimizer, criterion):
        self.actor = actor
        self.optimizer = optimizer
        self.criterion = criterion

    def fit(self, loader, first):
        for number, texts in enumerate(loader):
            if number < first:
                continue
            tokens = self.actor.tokenizer(texts, return_tensors="pt", padding=True)  # expect: tokenise-in-loop@note
            self.optimizer.zero_grad()
            self.criterion(self.actor(tokens["input_ids"].cuda())).backward()
            self.optimizer.step()
