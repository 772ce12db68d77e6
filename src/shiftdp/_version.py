"""The version, where every room can read it without importing all others."""

__version__ = "0.1.0"
