"""`squash`: replace old migration files by one that creates their tables. The core does not import this room.

What the history and the checks of files need of a squash, its headers, is in `migrations.squashes` and `history.squashes`.

- `squash`: the command: check the environment, compose the file.
- `source`: the statements that ran in the environment, and the tables that they left.
- `effects`: what a statement changes, as far as a squash needs to know.
- `file`: the text of the file, and the commit that puts it in place of the others.
"""
