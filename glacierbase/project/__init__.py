"""The project: one class with a method per command, the table of commands, and how a command runs on several catalogs.

- `project`: the class `Project`.
- `commands`: the table of commands: section, function and type of result, by name.
- `each`: choose catalogs, collect the results of a command on each of them.
- `running`: run a command on several catalogs, one after the other or several at a time.
- `folders`: find the root, and read its folders.
"""
