"""Migration files: names, headers, checksums, templates, rendering and splitting, up to compiled statements."""
