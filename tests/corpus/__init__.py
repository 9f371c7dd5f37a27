"""Hazards and harmless files as they arrive in pull requests, written before their author read any rule of `lint`.

One YAML file per engine. A case has the migrations that are applied (`base`), a new one (`branch`), and, for a hazard, the number of
the statement, a pattern that a finding about this hazard matches (`says`), and what shows it (`found by`): the statement alone (`text`),
what the base declares (`declared`), or a run on the copy (`engine`). `missed` says why nothing finds a hazard.
"""
