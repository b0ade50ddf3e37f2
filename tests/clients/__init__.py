"""The gateway proved with real clients: a scripted upstream that is strict, that reads, that caches and that bills; and who asks it."""
