"""Devices under test."""
