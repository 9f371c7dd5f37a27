"""The engine tests on each Spark, and the scenarios of each cell of the compatibility page: `python -m tests.matrix`.

- `cells`: which combinations there are, and how each writes its statements.
- `scenarios`: what is done in each cell with the real program.
- `test_cells`: runs the scenarios, and with `--record` writes the results.
- `record`, `results/`: the results as JSON files, which are committed.
- `others.yaml`: what was tried by hand, and what cannot be tried here.
- `page`: the tables of docs/compatibility.md.
"""
