"""The rules of glacierbase. Each family has a module with the checks, and a Markdown file with their descriptions."""
