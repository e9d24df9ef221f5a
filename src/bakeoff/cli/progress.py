"""How a run goes, for people: a live line in a terminal, a line a trial elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from bakeoff.plan import cell_text

if TYPE_CHECKING:
    from bakeoff.prepare import Prepared
    from bakeoff.store import TrialRow
    from bakeoff.store.store import Outcome


TELLING = ("elapsed", "throughput", "build_time", "wall")


class Clock:
    """Time left, from how long trials of the same system and cell (or else all trials so far) have taken."""

    def __init__(self) -> None:
        self._spent: dict[str, list[float]] = {}

    def add(self, trial: TrialRow, seconds: float) -> None:
        """Notes how long a trial took."""
        self._spent.setdefault(_unit(trial), []).append(seconds)

    def left(self, trials: int) -> float | None:
        """Seconds that so many further trials will take, or None while nothing is known."""
        every = [seconds for spent in self._spent.values() for seconds in spent]
        return trials * sum(every) / len(every) if every else None


def _unit(trial: TrialRow) -> str:
    return f"{trial.trial.procedure} {trial.trial.system} {cell_text(trial.trial.cell)}"


def human(seconds: float | None) -> str:
    """A time for people."""
    if seconds is None:
        return "…"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def last_values(outcome: Outcome) -> str:
    """What a trial has shown, shortly: the first of the telling metrics that it has, the last step's value."""
    if outcome.status != "ok":
        return f"{outcome.status}: {outcome.reason}"
    last = {name: (unit, value, labels) for name, unit, labels, value in outcome.observations if "part" not in labels}
    name = next((name for name in TELLING if name in last), None)
    if name is None:
        return ""
    unit, value, labels = last[name]
    step = " at " + ", ".join(f"{key} {level}" for key, level in labels.items()) if labels else ""
    flags = f" (flags: {', '.join(sorted({flag for flag, _, _ in outcome.flags}))})" if outcome.flags else ""
    return f"{name} {value:.4g} {unit}{step}{flags}"


class Lines:
    """A line a trial, for logs and pipes."""

    def __init__(self, console: Console) -> None:
        self._console, self._clock, self._left = console, Clock(), 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return

    def preparing(self, system: str) -> None:
        """Says what is being made ready."""
        self._say(f"preparing {system}")

    def prepared(self, prepared: Prepared) -> None:
        """Says what cannot be had."""
        if not prepared.ready:
            self._say(f"{prepared.name} is unavailable: {prepared.reason}")

    def waiting(self, holder: str) -> None:
        """Says whom we wait for."""
        self._say(f"waiting for another lab that measures on this machine: {holder}")

    def begins(self, trial: TrialRow, left: int) -> None:  # noqa: ARG002
        """Notes how many trials are left."""
        self._left = left

    def ends(self, trial: TrialRow, outcome: Outcome, seconds: float) -> None:
        """Says what came of a trial, and the time left."""
        self._clock.add(trial, seconds)
        left = self._left - 1
        self._say(f"{left:5} left ({human(self._clock.left(left))})  {_unit(trial)}  {last_values(outcome)}")

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


class Live:
    """A bar with the time left and the last values, for terminals."""

    def __init__(self, console: Console) -> None:
        self._console, self._clock = console, Clock()
        columns = (
            BarColumn(30),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]} left"),
            TextColumn("{task.description}", markup=False),
        )
        self._progress = Progress(*columns, console=console, transient=True)
        self._task = self._progress.add_task("", total=None, left="…")
        self._total = 0

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def preparing(self, system: str) -> None:
        """Shows what is being made ready."""
        self._progress.update(self._task, description=f"preparing {system}")

    def prepared(self, prepared: Prepared) -> None:
        """Says what cannot be had."""
        if not prepared.ready:
            self._console.print(f"{prepared.name} is unavailable: {prepared.reason}", markup=False, highlight=False)

    def waiting(self, holder: str) -> None:
        """Says whom we wait for."""
        said = f"waiting for another lab that measures on this machine: {holder}"
        self._console.print(said, markup=False, highlight=False)
        self._progress.update(self._task, description="waiting for another lab")

    def begins(self, trial: TrialRow, left: int) -> None:
        """Shows the trial that runs."""
        self._total = max(self._total, left)
        self._progress.update(
            self._task,
            total=self._total,
            completed=self._total - left,
            left=human(self._clock.left(left)),
            description=f"{trial.trial.system} {cell_text(trial.trial.cell)}",
        )

    def ends(self, trial: TrialRow, outcome: Outcome, seconds: float) -> None:
        """Shows the last values; a trial that is not ok stays on the screen."""
        self._clock.add(trial, seconds)
        text = f"{_unit(trial)}  {last_values(outcome)}"
        self._progress.update(self._task, advance=1, description=text)
        if outcome.status not in ("ok", "unavailable"):
            self._console.print(text, markup=False, highlight=False)
