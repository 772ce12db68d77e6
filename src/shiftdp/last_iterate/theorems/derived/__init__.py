"""Theorems made of others: group privacy, people with several records, deletion."""
