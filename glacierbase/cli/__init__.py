"""The command line. Until a command runs, only `click` is imported, so that `--help` is fast.

- `program`: how the program starts, and how it exits after a wrong command line or a bug.
- `group`: the group of the commands, their list in `--help`, and the exit code of a difference.
- `options`: the options that commands share.
- `completion`: the completions of a shell.
- `terminal`: run a command, print its result, prompt for confirmation, exit with the code of its error.
- `display`: the live display of a terminal.
- `signals`: stop a run at a signal.

The commands:
- `apply`: the commands that change catalogs, and `pending` and `plan`.
- `inspect`: the read-only commands.
- `drift`: `drift`, and its three ways to resolve a difference.
- `files`: the commands on files alone.
- `adopt`: `import`.
- `layout`: `layout explain`, `advise`, `profile`, `simulate` and `ls`.
- `review`: `lint`, `rules` and `review`.
- `reference`: `explain` and `schemas`, which need no project.
- `sharding`: `sharding advise`.
- `rekey`: `rekey plan`.
"""

from glacierbase.cli.program import main as main
from glacierbase.cli.program import run as run
