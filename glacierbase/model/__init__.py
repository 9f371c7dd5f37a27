"""The nouns: migrations, statements, events, catalogs, results, and how they read as JSON and text."""
