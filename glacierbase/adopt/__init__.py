"""Bring another tool's project under version control: `import`. The core does not import this room.

The project is a stranger's: nothing of it is run, and nothing of it is changed.
- `foreign`: its files, scripts and placeholders, as all readers have them.
- `flyway`, `schemachange`, `liquibase`, `alembic`: the reader of each tool.
- `importing`: write a migration for each script, all or none.
- `baselining`: record what the tool's history table has as applied.
- `results`: the result.
"""
