"""Strict readers of what vendors take: one for each request format, written from the vendors' documented rules.

They are judges, so they share no code with the library: nothing here imports it. Each of `anthropic`, `gemini`,
`openai_chat` and `openai_responses` has `problems(request, *, model, previous, whole)` and `CODES`, what each code means.
"""
