"""Read YAML files whose values know their lines, and check them against declared keys."""
