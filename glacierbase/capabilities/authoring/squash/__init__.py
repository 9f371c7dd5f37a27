"""`squash`: replace old migration files by one that creates their tables.

The headers of a squash, which history and checks of files read, are in `migrations.squashes` and `history.squashes`.

- `squash`: the command: check the environment, compose the file.
- `source`: the statements that ran in the environment, and its tables.
- `effects`: the kinds of changes that a statement makes.
- `file`: the text of the file, and the commit that replaces the others.
"""
