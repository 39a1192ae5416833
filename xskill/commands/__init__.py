"""One module a subcommand: options, the call of the stage, the output. No algorithm lives here."""
