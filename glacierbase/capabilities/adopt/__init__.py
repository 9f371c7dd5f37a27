"""Adopt what exists before glacierbase: tables, and projects of other tools.

Tables that exist:
- `tables`: the command: list them and their views, write a file for each, record the files as applied.
- `table_file`: the file of one table.
- `table_results`: the result.

Another tool's project, which is a stranger's: nothing of it is run, and nothing of it is changed.
- `foreign`: its files, scripts and placeholders, as all readers have them.
- `flyway`, `schemachange`, `liquibase`, `alembic`: the reader of each tool.
- `importing`: write a migration for each script, all or none.
- `baselining`: record what the tool's history table has as applied.
- `results`: the result.
"""
