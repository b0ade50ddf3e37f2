"""Telemetry of the gateway: what passes, told to observers. Only their own modules know a telemetry library.

`facts` are what is told, `observing` makes them in a thread of its own, `opentelemetry`, `prometheus` and `logs` are observers.
"""
