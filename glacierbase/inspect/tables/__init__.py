"""What the records say of one table: `schema` and `blame`."""
