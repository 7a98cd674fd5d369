"""Devices under test: how each is started, watched and stopped."""
