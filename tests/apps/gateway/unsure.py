"""Under which name tests record how many requests of random clients passed because nobody was sure of them, by the reason."""

UNSURE = "passed as unsure"
