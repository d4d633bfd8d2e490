"""The facts about a run that the rules look at."""
