"""The actions of a re-key: of the objects of a data set, or of an Iceberg table, as the call names one or the other."""

from __future__ import annotations

from glacierbase.executors.actions import ActionRun


def verify_dual_write(run: ActionRun) -> None:
    """Check that writers write each object twice."""
    from glacierbase.capabilities.rekey import objects

    objects.verify_dual_write(run)


def backfill(run: ActionRun) -> None:
    """Give what exists its new keys."""
    from glacierbase.capabilities.rekey import iceberg, objects

    (iceberg if "table" in run.arguments else objects).backfill(run)


def validate(run: ActionRun) -> None:
    """Check that nothing was lost, and that everything has its new key."""
    from glacierbase.capabilities.rekey import iceberg, objects

    (iceberg if "table" in run.arguments else objects).validate(run)


def cutover(run: ActionRun) -> None:
    """Let readers read one share of the data by its new keys."""
    from glacierbase.capabilities.rekey import cutover as step

    step.cutover(run)


def clean_up(run: ActionRun) -> None:
    """Delete the objects with old keys."""
    from glacierbase.capabilities.rekey import cleaning

    cleaning.clean_up(run)
