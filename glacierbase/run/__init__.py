"""A run on this machine: its identity, processes, clock, waits, and the safe use of git and files.

- `run`: the id, user, host, CI job and git commit of a run.
- `processes`, `held`: processes and the proof that one has ended; the locks that a run holds.
- `shared`: what the runs of one command share.
- `clock`, `waiting`: the clocks of leases and waits; threads and waits with a time limit.
- `activity`: the current activities of a command.
- `files`, `cache`, `sealed`: read and write files safely; the user's cache folder, and its entries with a digest.
- `git`, `user_command`, `pythons`: run git, the commands of hooks, and another Python.
- `dynamodb`: the meaning of an error of DynamoDB, for the store and for sharded keys.
- `packages`, `installed`: objects that installed packages add; where glacierbase was installed from.
"""
