"""Configurations of training frameworks from a plan: settings in, texts of files out."""
