"""A trial: the same tasks with a live model, its context managed by different methods, judged by programs.

A replay says what a method costs and still shows; only a model can say whether it then does its work. `contract` is what a task
is, `facts`, `rules` and `repository` are those that are shipped, `folders` reads a user's own, `managing` has the methods, `endpoint` calls the
model, `running` runs and records, and `analysis` and `report` say what came of it.
"""
