"""The findings of `lint` and `review` in the formats of services and programs.

- `problems`: the findings: masked, escaped, each once.
- `markdown_blocks`: values as Markdown, and a comment that is cut between items.
- `links`: links from a comment to files on the page of the service.
- `github`, `gitlab`, `junit`, `markdown`, `sarif`: the formats.
"""
