"""What a session comes to, as the command line and the inspector list it."""
