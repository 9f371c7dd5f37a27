"""The project: one class with a method per command, the table of commands, and how a command runs on several catalogs.

- `project`: the class `Project`.
- `commands`: the table of commands: section, function and type of result, by name.
- `each`: choose catalogs, run a command on several at a time, collect the results.
- `folders`: find the root, and read its folders.
"""
