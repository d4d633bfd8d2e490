"""What the audit found, for people and for programs: terminal, JSON, SARIF, Markdown, one HTML file."""
