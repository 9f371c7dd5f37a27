"""Tables as statements declare them, and statements that declare a table. Pure.

From statements to tables:
- `known`, `known_tables`: what is known of a table; the tables that statements declare, accumulated over files.
- `declared`: the tables that exist after all files, and the resulting shape of each.

What a change does to a table (`model.changes`):
- `clauses`: the changes that a statement makes.
- `applied`, `column_edits`, `trees`, `widening`: the table after a change, or why the engine refuses it; its columns as trees; the
  types that a column can get.
- `between`, `between_columns`, `between_delta`: the changes between two tables, the inverse of one.
- `change_sql`: a change as a statement.

From tables to statements:
- `writer`: the statements that create a table or change one, by its format, and what they leave out.
- `render`: names, types and texts of a shape as Spark SQL.
"""
