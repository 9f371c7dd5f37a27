"""The commands that write a project's files and contact nothing.

- `init`: write a catalog file, its schema for editors and a first migration, from `templates/`.
- `ci_files`: write the files of a CI service, from `templates/ci/`.
- `new`, `inverse`: write the next migration file; with `--reverting` one that undoes another.
- `rebase`: give the new files of a branch versions above those of its base.
- `squash/`: replace old files by one.
"""
