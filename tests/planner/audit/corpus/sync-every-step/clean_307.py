def switch(ranker, train_data):
    """This only switches a model."""
    total = 0.0
    for query, rankings in train_data:
        ranker.train(True)
        total += ranker.count(rankings).item()
    return total


class Critic:
    def update(self, values):
        """Neither is a writer of summaries."""
        self.ledger.add_loss("critic", values.size(0))
        self.writer.add_page(values)
