"""The read-only commands of the core, each with its result and its text.

- `validate`: `validate` and `render`.
- `doctor`: check files, connection, rights and the lock; who besides the migrator may change the tables.
- `status`: the state of every version, and the lock holder.
- `history`: the events that match the filters, the outcomes, the changes of a column.
- `show`: the details of one version, with the changes that its runs recorded.
- `results`: the results of `validate`, `render`, `doctor` and `status`.
"""
