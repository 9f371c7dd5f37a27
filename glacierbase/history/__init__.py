"""The history of a catalog: events, and the records that they add up to."""
