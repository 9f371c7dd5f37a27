"""Catalog files: YAML that keeps its line numbers, references, merging and checks, up to one Catalog in one environment."""
