"""The laws of a context, watched from outside while random sessions do everything that a session can do.

`acts` draws what is done, `driver` does it to a `pt.Session` and to a plain `model` of it, and after every derive each check of
`checks` compares the two. Nothing here asks the library what should be: only public values are read.
"""
