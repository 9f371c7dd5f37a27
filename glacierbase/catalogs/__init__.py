"""Catalog files: YAML with line numbers, references, merging and checks, up to one `Catalog` for one environment.

Files:
- `folder`: all catalog files of a project; merge `_shared.yaml`, a file and one of its environments.
- `catalogfile`: one catalog file as written, with the checks that need no environment.
- `yamlfile`: YAML to nodes with line numbers; merging mappings.
- `keys`, `schema`: the table of keys, and the check of a file against it; the same as a JSON Schema for editors.

Catalogs:
- `environment`: the merged content of one environment as a `Catalog`, with references resolved.
- `references`: `${env:NAME}` and the other references, and the values from outside.
- `blocks`: the keys `drift`, `lint` and `headers`.
- `dependencies`: jars.
- `declared_catalogs`: the catalogs that `sparkConf` declares.
- `safe_store`: which of them cannot hold a lock, and the choices where no other is named.
- `table_formats`: the formats of its tables, their versions, the properties of new tables.
- `varying`: the texts that variables have in only some environments.
- `needs`: what statements need of a catalog file, such as extensions of Spark's parser.
- `choice`: the catalogs and the environment of a command.
"""
