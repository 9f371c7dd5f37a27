"""Load catalog files: YAML with line numbers, references, merging and checks, up to one `Catalog` for one environment."""
