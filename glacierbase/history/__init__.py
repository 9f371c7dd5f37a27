"""The history of a catalog: events, and the records derived from them.

From a store to values:
- `target`: one catalog in one environment with its files, its engine and its store.
- `state`: history and lock, read together and checked.
- `records`: events to the record of each version; checks that the history is complete and the right one.
- `details`: the content of the column `details`.
- `squashes`: resolve squashes of files and history.
- `items`: file, record and state of each version and repeatable, joined.
- `lockrow`: the row of the lock table.

To a store:
- `entries`: the events that a run records, one function per kind.
- `recorder`: number, sign, mask and append events; compact the tables when that is due.
"""
