//! What the instruments share: the clock, durations and sizes as people write them, and JSON lines.
