"""Tests of the room `adopt`."""
