"""The store: every run, trial and observation, in SQLite or in PostgreSQL by URL."""

from bakeoff.store.store import Store, TrialRow

__all__ = ["Store", "TrialRow"]
