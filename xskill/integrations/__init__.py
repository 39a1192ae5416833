"""Adapters with the trainers' own signatures; a trainer is imported only when its adapter is called."""
