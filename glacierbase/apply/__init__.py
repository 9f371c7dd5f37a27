"""The commands that change something: plan, lock, migrate, repair, unlock, baseline.

The path of `migrate`, which `pending` and `plan` share:
- `migrator`: the path, and the three commands; `pending` and `plan` stop after planning and compiling.
- `several`: what `migrate` checks before the first of several catalogs runs; the result of one that is not run.
- `plan`: files and history to a plan, or the error that explains why there is none.
- `preview`: the files of a plan, as `pending` and `plan` list them; where the catalog file leads.
- `planfile`, `approved`: plan files; whether what would run is what was approved.
- `hooks`: the user's commands before and after a run.
- `lock`: acquire, renew, prove, take over and release the lock of a catalog.
- `locked`: what every command that changes something does around its change.
- `runner`: run the files of a plan under the lock, statement by statement; record a failed or unknown outcome.
- `session`: the session of a file, and how a file that is resumed gets it again.
- `progress`: the outcome of a run so far: the files applied, failed and not run.
- `failures`: the errors that end a run in the middle of a file.
- `lost`: tables without a history: it was lost, or they are to be baselined.

The other commands:
- `repair`, `transitions`: record what a person decides about a version; what each `--as` records in each state.
- `evidence`: what shows the outcome of a statement, and the event that records it.
- `withdraw`: end a version in every environment, where no statement of it took effect in any.
- `recover`, `verdict`: settle a statement of a dead run where its table proves the outcome.
- `unlock`: free a lock by hand.
- `baseline`: record files as applied whose tables exist already.
- `env`: make, check and delete the virtual environments of `packages`; `warm`: prepare the start of an engine.
- `results`: the results of these commands.
"""
