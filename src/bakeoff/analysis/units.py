"""Units of measurement: turning a published figure into the unit of ours."""

from __future__ import annotations

_SCALES: dict[str, dict[str, float]] = {
    "time": {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0},
    "size": {
        "B": 1.0,
        "kB": 1e3,
        "KB": 1e3,
        "MB": 1e6,
        "GB": 1e9,
        "KiB": 1024.0,
        "MiB": 1024.0**2,
        "GiB": 1024.0**3,
    },
    "rate": {"1/s": 1.0, "1/min": 1 / 60},
    "number": {"1": 1.0, "count": 1.0, "ratio": 1.0, "": 1.0, "percent": 0.01, "%": 0.01},
}


def factor(unit: str, into: str) -> float | None:
    """What a figure in `unit` is multiplied by to be in `into`; None if the two measure different things."""
    if unit == into:
        return 1.0
    for scale in _SCALES.values():
        if unit in scale and into in scale:
            return scale[unit] / scale[into]
    return None
