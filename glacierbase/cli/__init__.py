"""The command line. Until a command runs, only `click` is imported, so that `--help` is fast.

- `program`: how the program starts, and how it exits after a wrong command line or a bug.
- `group`: the group of the commands, and their list in `--help`.
- `options`: the options that commands share.
- `completion`: what a shell completes.
- `terminal`: run a command, print its result, ask for confirmation, exit with its code.
- `display`: what a terminal shows.
- `signals`: stop a run when a signal asks for it.

The commands:
- `apply`: those that change catalogs, and `pending` and `plan`.
- `inspect`: the read-only ones.
- `drift`: `drift`, and its three ways to settle a difference.
- `files`: those on files alone.
- `adopt`: `import`.
- `review`: `lint`, `rules` and `review`.
- `reference`: `explain` and `schemas`, which print what the program knows.
"""

from glacierbase.cli.program import main as main
