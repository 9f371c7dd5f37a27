"""The engine of a catalog in another process of this machine, a worker, which may run another Python.

- `start`, `main`: start the process; what runs in it.
- `wire`: the messages between the two processes.
- `client`, `copy`, `pool`: the executor in the process that migrates; the copy of a review; the workers of a command.
"""
