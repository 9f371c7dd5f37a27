"""The engine of a catalog in another process of this machine, a worker, which may run another Python.

- `interpreters`: which Python runs the engine of a catalog.
"""
