"""Adjustments: the only part that changes anything in a training. Offers, answers, measured effects, roll-backs."""
