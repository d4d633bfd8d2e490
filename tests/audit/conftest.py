"""The corpus is read, never run: some of it is called like tests."""

collect_ignore = ["corpus"]
