"""The history of a catalog: events, and the records that they add up to.

From a store to values:
- `opening`: one catalog in one environment with its files, its engine and its store.
- `state`: history and lock, read together and checked.
- `records`: events to the record of each version; checks that the history is complete and the right one.
- `details`: what the column `details` holds.
- `status`: where each version of files and history is.
- `squashes`: files and history where one of them has a squash.
- `lockrow`: the row of the lock table.

Tables:
- `shapes`: what a run recorded of the tables of a file.
- `timeline`: the shapes that each table has had, since when, and by which migration.
- `tables`: the tables of the files of a history, and their choice by patterns.
- `drift`: the tables now, against their record.

To a store:
- `entries`: the events that a run records, one function per kind.
- `recorder`: number, sign, mask and append events.
"""
