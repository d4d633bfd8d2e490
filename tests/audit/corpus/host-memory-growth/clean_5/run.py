from learning.agents.agent import Agent


def main(model, optimizer, train_loader):
    Agent(model, optimizer).train(train_loader)
