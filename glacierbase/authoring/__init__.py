"""The commands that write a project's files and contact nothing. The core does not import this room.

- `init`: write a catalog file, its schema for editors and a first migration, from `templates/`.
- `ci_files`: write the files of a CI service, from `templates/ci/`.
- `new`: write the next migration file.
- `match`, `wanted`, `pending_tables`: write it with the statements that lead to wanted tables; read what is wanted; the tables once
  the pending files have run.
- `rebase`: give the new files of a branch versions above those of its base.
"""
