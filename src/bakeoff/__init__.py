"""Bakeoff: a laboratory for comparing server-side technology."""

__version__ = "0.1.0"
