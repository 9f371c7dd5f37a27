"""Adopt what exists before glacierbase: tables, other tools' projects, rights. The core does not import this room.

- `access`: `access plan`: the grants by which only one role may change tables.
- `grants`: these grants for each kind of catalog, as templates, with the pages of the vendors that they follow.
"""
