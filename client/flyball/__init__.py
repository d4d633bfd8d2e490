"""What a user touches: `import flyball` in a training script, and the `flyball` command."""
