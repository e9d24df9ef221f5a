"""The tables. docs/design.md says what one row of each is."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

runs = Table(
    "runs",
    metadata,
    Column("id", String(120), primary_key=True),
    Column("experiment", String(80), nullable=False),
    Column("profile", String(40)),
    Column("seed", Integer, nullable=False),
    Column("status", String(20), nullable=False),  # running, interrupted, done
    Column("created_at", Float, nullable=False),  # seconds since 1970, UTC
    Column("ended_at", Float),
    Column("lab_root", Text, nullable=False),
    Column("command", Text, nullable=False),
    Column("experiment_yaml", Text, nullable=False),  # as resolved
    Column("readme", Text),
    Column("reference_rows", JSON, nullable=False),
    Column("versions", JSON, nullable=False),  # lab, instruments, source
    Column("pid", Integer),  # of the lab that runs it, with its start time, to tell a live run from a dead one
    Column("pid_started", Float),
)
Index("ix_runs_created_at", runs.c.created_at)
Index("ix_runs_experiment_created_at", runs.c.experiment, runs.c.created_at)

run_systems = Table(
    "run_systems",
    metadata,
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("system", String(80), primary_key=True),  # with its variant
    Column("system_yaml", Text, nullable=False),
    Column("status", String(20), nullable=False),  # ready, unavailable
    Column("reason", Text),
    Column("version", String(120)),
    Column("tools", JSON, nullable=False),
    Column("key", String(64)),
    Column("receipt", JSON),
)
Index("ix_run_systems_system", run_systems.c.system)

trials = Table(
    "trials",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("block", Integer, nullable=False),
    Column("replication", Integer, nullable=False),
    Column("warm_up", Boolean, nullable=False),
    Column("procedure", String(20), nullable=False),
    Column("system", String(80), nullable=False),
    Column("cell", JSON, nullable=False),
    Column("parameters", JSON, nullable=False),
    Column("status", String(20), nullable=False),
    Column("reason", Text),
    Column("started_at", Float),
    Column("ended_at", Float),
    UniqueConstraint("run_id", "position", "attempt"),
)
Index("ix_trials_run_id_status", trials.c.run_id, trials.c.status)

metrics = Table(
    "metrics",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(80), nullable=False),
    Column("unit", String(20), nullable=False),
    Column("labels", Text, nullable=False),  # JSON object with sorted keys: part, role, phase, step factors
    UniqueConstraint("name", "unit", "labels"),
)

observations = Table(
    "observations",
    metadata,
    Column("trial_id", ForeignKey("trials.id", ondelete="CASCADE"), primary_key=True),
    Column("metric_id", ForeignKey("metrics.id"), primary_key=True),
    Column("value", Float, nullable=False),
    sqlite_with_rowid=False,
)

series = Table(
    "series",
    metadata,
    Column("trial_id", ForeignKey("trials.id", ondelete="CASCADE"), primary_key=True),
    Column("metric_id", ForeignKey("metrics.id"), primary_key=True),
    Column("count", Integer, nullable=False),
    Column("times", LargeBinary, nullable=False),  # zlib of little-endian float64, seconds since the trial's start
    Column("values", LargeBinary, nullable=False),
)

histograms = Table(
    "histograms",
    metadata,
    Column("trial_id", ForeignKey("trials.id", ondelete="CASCADE"), primary_key=True),
    Column("metric_id", ForeignKey("metrics.id"), primary_key=True),
    Column("data", Text, nullable=False),  # HdrHistogram, compressed V2, base64
)

artefacts = Table(
    "artefacts",
    metadata,
    Column("trial_id", ForeignKey("trials.id", ondelete="CASCADE"), primary_key=True),
    Column("name", String(80), primary_key=True),
    Column("media_type", String(80), nullable=False),
    Column("size", Integer, nullable=False),  # bytes, before compression
    Column("data", LargeBinary, nullable=False),  # zlib
)

flags = Table(
    "flags",
    metadata,
    Column("trial_id", ForeignKey("trials.id", ondelete="CASCADE"), primary_key=True),
    Column("flag", String(40), primary_key=True),
    Column("labels", Text, primary_key=True),  # JSON object: the step that the flag is about, or {} for the whole trial
    Column("detail", Text, nullable=False),
)

host_facts = Table(
    "host_facts",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("trial_id", ForeignKey("trials.id", ondelete="CASCADE"), index=True),
    Column("moment", String(20), nullable=False),  # run, before, after
    Column("at", Float, nullable=False),
    Column("facts", JSON, nullable=False),
)
