"""Workers that ship with the project: environments, policies and models behind the worker protocol."""
