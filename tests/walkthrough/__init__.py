"""What a new user does with the README and the docs alone, as stories that are replayed and compared with their transcripts."""
