"""The rules of glacierbase, a module for each family."""
