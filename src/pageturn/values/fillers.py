"""Fillers: the fixed texts that a request gets where a vendor refuses an empty or missing message. They are charged."""

CONTINUED = (
    "(Continue.)"  # by the user, where the model would begin or speak twice, and at the end of what it said last
)
HEARD = "(The results are above.)"  # by the model, where the user may not speak directly behind results
NO_OUTPUT = "(no output)"  # of a result that is empty
NOT_AN_OBJECT = "not_an_object"  # the key under which the arguments of a call go out that are no JSON object
