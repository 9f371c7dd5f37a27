"""The history of a catalog: events, and the records derived from them.

From a store to values:
- `opening`: one catalog in one environment with its files, its engine and its store.
- `state`: history and lock, read together and checked.
- `records`: events to the record of each version; checks that the history is complete and the right one.
- `details`: the content of the column `details`.
- `status`: the state of each version of files and history.
- `squashes`: resolve squashes of files and history.
- `lockrow`: the row of the lock table.

Tables:
- `shapes`: the record of a file's tables.
- `timeline`: the shapes that each table has had, since when, and by which migration.
- `tables`: the tables of the files of a history, and their choice by patterns.
- `template_names`: their names as templates.
- `drift`: compare the tables with their records.

To a store:
- `entries`: the events that a run records, one function per kind.
- `recorder`: number, sign, mask and append events; compact the tables when that is due.
"""
