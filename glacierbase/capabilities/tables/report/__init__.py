"""`report`: one HTML page about the project.

- `page`: the command, and the page from its `templates/`, with the data in compact JSON.
- `data`: what the page holds of one catalog, from one read of its history and its files.
- `results`: the types of that data.
"""
