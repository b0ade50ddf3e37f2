"""What each page of the inspector shows, as values: pure functions of a session, and the JSON that the page is drawn from."""
