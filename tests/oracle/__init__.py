"""What statements do on real Spark and real Iceberg, recorded once; the direct engine is compared with the record.

- `cases`: the statements, by name.
- `records`: reading and writing the recorded outcomes.
- `spark`: the cases on real Spark. `python -m tests.oracle` records them, and with `--check` compares them with the record.
- `replay`: the cases on the direct engine.
"""
