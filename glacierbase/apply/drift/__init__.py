"""The ways out of drift: adopt, revert, ignore."""
