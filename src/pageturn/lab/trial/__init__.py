"""Trials: the same tasks with a live model, its context managed by different methods, judged by programs.

A replay shows what a method costs and still shows; only a model can show whether it then does its work. `contract` defines a task;
`facts`, `rules` and `repository` are shipped tasks, and `folders` reads a user's own; `managing` has the methods, `endpoint` calls the
model, `running` runs and records, and `analysis` and `report` evaluate the results.
"""
