"""xskill: reusable skills and training signal from the logs of LLM agents."""

__version__ = "0.1.0"
