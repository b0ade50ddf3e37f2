"""Fillers: the fixed texts that a request gets where a vendor refuses an empty or missing message. They are charged."""

CONTINUED = "(Continue.)"  # by the user, if the model would begin or speak twice in a row, and after its last message
HEARD = "(The results are above.)"  # by the model, if the user may not speak directly after results
NO_OUTPUT = "(no output)"  # for an empty result
NOT_AN_OBJECT = "not_an_object"  # the key for the arguments of a call that are not a JSON object
