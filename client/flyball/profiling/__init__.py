"""Measures a program and its child processes without agent and collector. It needs the standard library only."""
