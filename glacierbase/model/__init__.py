"""The nouns: migrations, statements, events, catalogs, shapes, results, and how they are written as JSON and text.

- `migration`: a migration, its statements, its events, its states; the checksum of a file.
- `catalog`, `keys`: a catalog in one environment; a key of a catalog file and the types of its values.
- `shape`: all of a table except its rows; the version of a table.
- `changes`: what statements change of a table.
- `partial_shape`: a table of which some parts are not known; why the engine refuses a change.
- `transforms`: Iceberg's partition transforms, and the names that Iceberg gives to partition fields.
- `finding`: what a rule or the replay objects to.
- `differences`: the differences between two shapes, and between a declared and an actual table.
- `access`: who besides the migrator may change tables.
- `logins`: who logs in to a catalog server.
- `session`: the current catalog, namespace and role of a session.
- `names`: names of tables, as written, as recorded, as quoted.
- `result`: the base of every command's result.
- `command`: the commands that messages print.
- `arguments`: checks of the arguments that callers pass.
- `amounts`: numbers as callers write them, and as texts show them.
- `codec`: dataclasses to JSON documents, and back.
- `text`, `escape`, `html`: lines and tables; escaping; results in notebooks.
- `printable`: the one place where output is masked and escaped; plain text of lines and tables.
"""
