//! What the instruments share: the clock, durations and sizes as people write them, reasons to give up, JSON lines and the lifeline.

pub mod clock;
pub mod durations;
pub mod failure;
pub mod jsonl;
pub mod lifeline;
pub mod sizes;
