"""The virtual environments of `migrationExecutor.packages`, in which a worker runs the engine of a catalog.

- `lockfile`: the lock files of what they contain.
- `folders`: where each is in the user's cache, and whether it is complete.
- `installing`: make environments with uv, and delete old ones.
- `interpreters`: which Python runs the engine of a catalog.
"""
