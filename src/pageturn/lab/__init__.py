"""Lab: what a policy would have shown, kept and cost on recorded sessions."""
