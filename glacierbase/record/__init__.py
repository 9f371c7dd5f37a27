"""The record of tables: what a table was before and after a file, and who changed it.

What a run records:
- `table_records`: what a run observes of the tables that its files change.
- `table_reader`: snapshots of tables, read in threads and waited for with a time limit.
- `replay`: what statements make of a table, one after another.
- `attribution`: which statement, or which other client, made a change.
- `shapes`: what is recorded, as values and in the details of an event.

What the records say:
- `timeline`: the shapes that each table has had, since when, and by which migration.
- `lineage`: the last change and the creation of each part of a table.
- `points`: a version or a time in a history.
- `tables`: the tables of the files of a history, and their choice by patterns.
- `table_search`: the tables of a history, and the choice of one by its name.
- `template_names`: their names as templates.

The tables now:
- `unrecorded`: the changes of a table after its last record.
- `live`: read the shapes of users' tables, through PyIceberg or the engine.
- `drift`: compare the tables with their records.
"""
