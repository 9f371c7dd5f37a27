"""The commands that change something: plan, lock, migrate, repair, unlock, baseline."""
