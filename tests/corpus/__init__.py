"""Hazards and harmless files as they arrive in pull requests, written before their author read any rule of `lint`.

One YAML file per engine. A case has the migrations that are applied (`base`) and a new one (`branch`). A hazard has the number of
its statement, a pattern that a finding about it matches (`says`), and what shows it (`found by`): the statement alone (`text`),
the declarations of the base (`declared`), or a run on the copy (`engine`). `missed` says why nothing finds a hazard.
A note about a harmless file is no false alarm: it matters only under a condition that no file states.
"""
