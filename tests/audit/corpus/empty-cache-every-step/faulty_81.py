import torch


class Ensemble:
    def predict_by(self, taken):
        self.model.eval()
        made = []
        try:
            with torch.no_grad():
                for x in taken:
                    made.append(self.model(x.cuda()))
        finally:
            torch.cuda.empty_cache()  # expect: empty-cache-every-step@note
        return torch.cat(made)

    def predict_folds(self, folds):
        with torch.no_grad():
            for fold in folds:
                fold.store(self.predict_by(fold.taken))


def evaluate(model, loader):
    model.eval()
    with torch.no_grad():
        for x in loader:
            model(x.cuda())
            torch.cuda.empty_cache()  # expect: empty-cache-every-step@warning
