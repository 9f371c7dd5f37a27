"""What glacierbase costs, as ratios to peers and floors that are measured beside it: `python -m tests.benchmarks`. No tests."""
