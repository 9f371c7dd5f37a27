"""Catalog files: YAML with line numbers, references, merging and checks, up to one `Catalog` for one environment.

Files:
- `folder`: all catalog files of a project, each a catalog in any of its environments.
- `catalogfile`: one catalog file as written, with the checks that need no environment.
- `yamlfile`: YAML to nodes with line numbers; merging mappings.
- `keys`, `schema`: the table of keys, and the check of a file against it; the same as a JSON Schema for editors.
- `drift_file`: write rules into the text of a catalog file.

Catalogs:
- `environment`: one environment of a file as a `Catalog`.
- `references`: `${env:NAME}` and the other references, and the values from outside.
- `blocks`: the keys `drift`, `lint` and `headers`.
- `dependencies`: jars.
- `declared_catalogs`: the catalogs that `sparkConf` declares.
- `choice`: the catalogs and the environment of a command.
- `place`: the values that identify where a catalog file leads.
"""
