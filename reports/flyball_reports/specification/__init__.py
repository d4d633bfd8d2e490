"""A reader for YAML specifications: values know their lines, and sections are checked against declared keys."""
