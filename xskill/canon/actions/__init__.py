"""Raw actions to typed tokens: parsers, profiles, and the rules that profiles are made of."""
