"""The version, where every room can read it without importing all others."""

VERSION = "0.1.0"
