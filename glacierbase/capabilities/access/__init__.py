"""The rights by which only the migrator changes tables.

- `access`: `access plan`: the grants by which only one role may change tables.
- `grants`: these grants for each kind of catalog, as templates, with the pages of the vendors that they follow.
"""
