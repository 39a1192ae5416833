"""Secrets and personal data, replaced by typed placeholders."""
