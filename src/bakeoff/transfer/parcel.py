"""The format in which a run travels, and all that is checked of it. Binary columns are base64 in JSON.

A run is opened once (`Opening`) and filled by parcels of whole trials (`Parcel`). Trials are named by position and
attempt and metrics by their words, because ids differ between stores.
"""

from __future__ import annotations

import base64
import binascii
import math
import zlib
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    JsonValue,
    StringConstraints,
    model_validator,
)

from bakeoff.names import NAME, Scalar, SystemName
from bakeoff.store.store import FINAL
from bakeoff.yamlfile import Strict

FORMAT = 1
MOST_OPENING = 8 * 2**20  # bytes of a request's body
MOST_PARCEL = 32 * 2**20
MOST_INFLATED = 256 * 2**20  # bytes of all compressed columns of a parcel together, once inflated
MOST_TRIALS = 1_000  # in a parcel
LARGEST = 2**31 - 1  # of a column of whole numbers
ENDED = (*FINAL, "interrupted")


def _plain(text: str) -> str:
    if "\0" in text:
        raise ValueError("a text holds the character NUL")
    return text


def _storable(value: Any) -> Any:
    """Refuses in any JSON what a database cannot hold."""
    if isinstance(value, str):
        _plain(value)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number is not finite")
    elif isinstance(value, dict):
        _storable([*value, *value.values()])
    elif isinstance(value, list):
        for one in value:
            _storable(one)
    return value


def _bytes(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("this is not base64") from None


Plain = AfterValidator(_plain)
Text20 = Annotated[str, StringConstraints(max_length=20), Plain]
Text80 = Annotated[str, StringConstraints(max_length=80), Plain]
Text120 = Annotated[str, StringConstraints(max_length=120), Plain]
Text400 = Annotated[str, StringConstraints(max_length=400), Plain]
Long = Annotated[str, StringConstraints(max_length=64 * 2**10), Plain]
Document = Annotated[str, StringConstraints(max_length=2**20), Plain]
Name20 = Annotated[str, StringConstraints(max_length=20, pattern=NAME)]
Name40 = Annotated[str, StringConstraints(max_length=40, pattern=NAME)]
Name80 = Annotated[str, StringConstraints(max_length=80, pattern=NAME)]
RunId = Annotated[str, StringConstraints(max_length=120, pattern=NAME)]
System = Annotated[SystemName, StringConstraints(max_length=80)]
Word80 = Annotated[str, StringConstraints(max_length=80, pattern=r"^[^\s\x00]+$")]
Word40 = Annotated[str, StringConstraints(max_length=40, pattern=r"^[^\s\x00]+$")]
FileName = Annotated[str, StringConstraints(min_length=1, max_length=80, pattern=r"^[^/\\\x00-\x1f]+$")]
MediaType = Annotated[str, StringConstraints(max_length=80, pattern=r"^[\w.+-]+/[\w.+-]+$")]
Base64 = Annotated[str, StringConstraints(max_length=4 * 2**20, pattern=r"^[A-Za-z0-9+/=]+$")]
Json = Annotated[JsonValue, AfterValidator(_storable)]
Binary = Annotated[bytes, BeforeValidator(_bytes)]
Count = Annotated[int, Field(ge=0, le=LARGEST)]
Attempt = Annotated[int, Field(ge=1, le=LARGEST)]
Whole = Annotated[int, Field(ge=-LARGEST, le=LARGEST)]
Time = Annotated[FiniteFloat, Field(ge=0, le=1e11)]  # seconds since 1970
Labels = dict[Text80, Text400]


class Checked(Strict):
    """A part of the format. Values are not converted: a number in quotes is no number."""

    model_config = ConfigDict(strict=True)


class Facts(Checked):
    """What a host said of itself at a moment."""

    moment: Text20
    at: Time
    facts: dict[Text80, Json]


class RunRow(Checked):
    """The row of a run. The process that runs it means nothing on another machine and is not sent."""

    id: RunId
    experiment: Name80
    profile: Name40 | None
    seed: Whole
    status: Literal["running", "interrupted", "done"]
    created_at: Time
    ended_at: Time | None
    lab_root: Long
    command: Long
    experiment_yaml: Document
    readme: Document | None
    reference_rows: Annotated[list[dict[Text80, Json]], Field(max_length=100_000)]
    versions: dict[Text80, Json]


class SystemRow(Checked):
    """A system of the run."""

    system: System
    system_yaml: Document
    status: Literal["ready", "unavailable"]
    reason: Long | None
    version: Text120 | None
    tools: dict[Text80, Json]
    key: Word80 | None
    receipt: Json


class Opening(Checked):
    """A run without its trials."""

    format: Literal[1]
    run: RunRow
    systems: Annotated[list[SystemRow], Field(max_length=1_000)]
    facts: Annotated[list[Facts], Field(max_length=1_000)]

    @model_validator(mode="after")
    def _once(self) -> Opening:
        _unique("system", (one.system for one in self.systems))
        return self


class MetricWords(Checked):
    """What names a metric."""

    name: Word80
    unit: Text20
    labels: Labels


class Value(Checked):
    """An observation. `metric` counts in the parcel's list, here and below."""

    metric: Count
    value: FiniteFloat


class Series(Checked):
    """A metric over time: compressed little-endian float64."""

    metric: Count
    count: Annotated[int, Field(ge=0, le=MOST_INFLATED // 16)]
    times: Binary
    values: Binary


class Histogram(Checked):
    """An HdrHistogram, compressed V2, as base64 text."""

    metric: Count
    data: Base64


class Artefact(Checked):
    """A compressed log or raw result."""

    name: FileName
    media_type: MediaType
    size: Annotated[int, Field(ge=0, le=MOST_INFLATED)]
    data: Binary


class Flag(Checked):
    """A validity flag."""

    flag: Word40
    labels: Labels
    detail: Long


class TrialParcel(Checked):
    """One attempt with all that it gave; one that has not ended gave nothing yet."""

    position: Whole
    attempt: Attempt
    block: Whole
    replication: Count
    warm_up: bool
    procedure: Name20
    system: System
    cell: dict[Text80, Text400]
    parameters: dict[Text80, Annotated[Scalar, AfterValidator(_storable)]]
    status: Literal["planned", "running", "interrupted", "ok", "wrong", "failed", "timeout", "unavailable"]
    reason: Long | None
    started_at: Time | None
    ended_at: Time | None
    observations: tuple[Value, ...] = ()
    series: tuple[Series, ...] = ()
    histograms: tuple[Histogram, ...] = ()
    artefacts: tuple[Artefact, ...] = ()
    flags: tuple[Flag, ...] = ()
    facts: Annotated[tuple[Facts, ...], Field(max_length=100)] = ()

    @model_validator(mode="after")
    def _sound(self) -> TrialParcel:
        given = (self.observations, self.series, self.histograms, self.artefacts, self.flags, self.facts)
        if self.status not in ENDED and any(given):
            raise ValueError("a trial that has not ended carries no figures")
        for kind in ("observations", "series", "histograms"):
            _unique(kind, (one.metric for one in getattr(self, kind)))
        _unique("artefact", (one.name for one in self.artefacts))
        _unique("flag", ((one.flag, *sorted(one.labels.items())) for one in self.flags))
        return self


class Parcel(Checked):
    """Some trials of a run, and the metrics that they name."""

    metrics: list[MetricWords]
    trials: Annotated[list[TrialParcel], Field(max_length=MOST_TRIALS)]

    @model_validator(mode="after")
    def _sound(self) -> Parcel:
        _unique("trial", ((one.position, one.attempt) for one in self.trials))
        numbers = [(trial.observations, trial.series, trial.histograms) for trial in self.trials]
        named = [one.metric for kinds in numbers for kind in kinds for one in kind]
        if any(metric >= len(self.metrics) for metric in named):
            raise ValueError("a number names a metric that the parcel lacks")
        left = MOST_INFLATED
        for trial in self.trials:
            for line in trial.series:
                left = _inflates(line.times, 8 * line.count, left)
                left = _inflates(line.values, 8 * line.count, left)
            for file in trial.artefacts:
                left = _inflates(file.data, file.size, left)
        return self


def _unique(what: str, items: Iterable[Any]) -> None:
    seen = list(items)
    if len(set(seen)) < len(seen):
        raise ValueError(f"the same {what} is there twice")


def _inflates(data: bytes, size: int, left: int) -> int:
    """Checks that compressed data has exactly this size; returns how many bytes others may still have."""
    if size > left:
        raise ValueError(f"the parcel has more than {MOST_INFLATED} bytes once it is inflated")
    inflater = zlib.decompressobj()
    try:
        found = len(inflater.decompress(data, size + 1))
    except zlib.error:
        raise ValueError("compressed data is damaged") from None
    if found != size or not inflater.eof or inflater.unused_data:
        raise ValueError("compressed data has not the size that is said of it")
    return left - size


def clean(value: Any) -> Any:
    """Plain data without the character NUL, which some databases cannot hold."""
    if isinstance(value, str):
        return value.replace("\0", "\N{REPLACEMENT CHARACTER}")
    if isinstance(value, dict):
        return {clean(key): clean(one) for key, one in value.items()}
    return [clean(one) for one in value] if isinstance(value, list) else value
