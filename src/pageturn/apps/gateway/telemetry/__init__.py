"""Telemetry of the gateway: reports what passes to observers. Only their own modules know a telemetry library.

`facts` are what is reported, `observing` makes them in a thread of its own, `opentelemetry`, `prometheus` and `logs` are observers.
"""
