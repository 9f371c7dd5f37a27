"""Generated histories of tables; a witness attributes every change. `python -m tests.histories` compares the commands with it.

- `generated`: the statements of files, and what other clients do.
- `stage`: a project on a real catalog, whose runs are watched.
- `witness`: who changed each part of each table, seen after each act.
- `pairs`: two environments that people change by hand, and what `compare` reports of them.
- `delta`: histories of Delta tables, on Spark.
- `asked`: run a history, and compare the answers of the commands with what the witness saw.
"""
