"""Tables as statements declare them, and statements that declare a table. Pure.

From statements to tables:
- `known`, `declared`: what statements declare of tables, accumulated over files; the resulting shape of a table.

From tables to statements:
- `writer`: the only writer of statements from shapes: those that create a table or change one, by its format.
- `render`, `delta_alters`: shapes as Spark SQL: CREATE TABLE, and ALTER TABLE from one shape to another, of Iceberg and of Delta.
"""
