"""Runs on their way from one store to another: the format, what packs and unpacks it, and the sender."""
