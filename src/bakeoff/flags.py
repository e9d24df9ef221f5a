"""The validity flags: what each one means, and whether a flagged trial is left out of the findings."""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """One flag. `excludes`: a trial (or step) that has it is kept and shown, and left out of the findings."""

    excludes: bool
    meaning: str


FLAGS: dict[str, Kind] = {
    "stolen_cpu": Kind(True, "too much CPU time went to other guests of the machine"),
    "generator_saturated": Kind(True, "the load generator was the limit, not the system"),
    "generator_starved": Kind(True, "the load generator was ready to send and had no CPU"),
    "generator_delayed": Kind(
        False, "the load generator waited for its CPU while the system was busy all the time and set the rate itself"
    ),
    "send_lag": Kind(True, "requests were sent later than intended"),
    "rate_not_reached": Kind(True, "the system did not take the requested rate"),
    "arrivals_unsent": Kind(True, "requests were never sent, so response times are longer than recorded"),
    "out_of_ports": Kind(True, "the generator ran out of ports"),
    "out_of_descriptors": Kind(True, "the generator ran out of file descriptors"),
    "connections_missing": Kind(True, "fewer connections were open than asked for"),
    "errors": Kind(True, "requests failed"),
    "evaluator_slow": Kind(False, "the start-up of an empty module took longer than the instrument's bound"),
    "not_settled": Kind(False, "the rate had not settled when the warm-up was over"),
}


def excludes(flag: str) -> bool:
    """Whether the flag leaves its trial or step out of the findings; a flag that is not known here does."""
    return FLAGS[flag].excludes if flag in FLAGS else True
