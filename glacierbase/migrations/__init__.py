"""Migration files: names, headers, checksums, templates, rendering and splitting, up to compiled statements.

Files:
- `folder`: read the migrations of a catalog in order, with their checksums; refuse two files of one version.
- `repeatables`: files without a version, and the order in which they run.
- `headers`: the comments `-- MIGRATION_NAME: value`, and those of a squash, which list the files that it replaces.
- `allows`: the comments that allow a finding of `lint`.
- `new_files`: write the next migration.
- `all_or_none`: write several new files, or none.

Statements:
- `render`: the text of a file in one environment, with the file's line of each character; the key macros.
- `template`: Jinja, restricted to what a versioned SQL file may depend on.
- `statements`: split SQL into statements; those of a transaction are one step.
- `compiled`: a rendered and split file; text that the engine would replace in it.
- `sessions`: what the statements of a file do to the session.
- `sandbox`, `worker`: compile untrusted files in a process with limits of time and memory.
- `in_environments`: compile the files of several catalogs in several environments.

Git:
- `git_files`: the files of a commit, and which files git tracks.
- `git_base`: compare files with those of the base branch: new, edited, deleted or out of order.
- `git_lost`: the commit from which git can restore a recorded file that is deleted or edited here.
"""
