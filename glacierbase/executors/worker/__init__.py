"""The engine of a catalog in another process of this machine, a worker, which may run another Python.

- `start`, `main`: start the process; what runs in it.
- `wire`: the messages between the two processes.
- `client`, `pool`: the executor in the process that migrates, and the copy of a review; the workers of a command.
"""
