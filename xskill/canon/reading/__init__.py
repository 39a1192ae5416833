"""What a reader of a format builds on: fields, messages, dialogs, spans, and the episodes that come of them."""
