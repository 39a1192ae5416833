"""Readers of log formats, one a module; :mod:`xskill.canon.formats.table` knows them all."""
