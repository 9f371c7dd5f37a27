"""The object keys of a table's files: from a table's declaration to the template of its keys. Pure: nothing is read or contacted.

Key layouts decide which part of an object store a load reaches. Stores partition keys by their first characters; the order of
partition fields is the order of the key.

- `providers`: what one partition of an object store carries, by provider.
- `template`: the template of a key, segment by segment, and what decides each segment.
"""
