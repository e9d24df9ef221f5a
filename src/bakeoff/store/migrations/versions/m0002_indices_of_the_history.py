"""indices for lists of runs: by time, by experiment, by system"""

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_index("ix_runs_created_at", "runs", ["created_at"])
    op.create_index("ix_runs_experiment_created_at", "runs", ["experiment", "created_at"])
    op.create_index("ix_run_systems_system", "run_systems", ["system"])


def downgrade() -> None:
    op.drop_index("ix_run_systems_system", "run_systems")
    op.drop_index("ix_runs_experiment_created_at", "runs")
    op.drop_index("ix_runs_created_at", "runs")
