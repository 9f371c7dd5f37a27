"""Tables as statements declare them, and statements that declare a table. Pure.

From statements to tables:
- `known`, `declared`: what statements declare of tables, accumulated over files; the resulting shape of a table.

What a change does to a table (`model.changes`):
- `clauses`: the changes that a statement makes.
- `applied`, `column_edits`, `trees`: the table after a change, or why the engine refuses it; its columns as trees.
- `between`, `change_sql`: the changes between two tables, the inverse of one; a change as a statement.

From tables to statements:
- `writer`: the only writer of statements from shapes: those that create a table or change one, by its format.
- `render`, `delta_alters`: shapes as Spark SQL: CREATE TABLE, and ALTER TABLE from one shape to another, of Iceberg and of Delta.
"""
