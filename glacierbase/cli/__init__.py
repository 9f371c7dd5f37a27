"""The command line. Until a command runs, only `click` is imported, so that `--help` is fast.

- `program`: how the program starts, and how it exits after a wrong command line or a bug.
- `group`: the group of the commands, and their list in `--help`.
- `options`: the options that commands share.
- `completion`: the completions of a shell.
- `terminal`: run a command, print its result, ask for confirmation, exit with its code.
- `display`: the live display of a terminal.
- `signals`: stop a run at a signal.

The commands:
- `apply`: the commands that change catalogs, and `pending` and `plan`.
- `inspect`: the read-only commands.
- `drift`: `drift`, and its three ways to resolve a difference.
- `adopt`: `import`.
- `files`: the commands on files alone.
- `review`: `lint`, `rules` and `review`.
- `reference`: `explain` and `schemas`, which need no project.
"""

from glacierbase.cli.program import main as main
