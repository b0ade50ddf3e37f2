"""Adapters: agent frameworks, a file for each, which needs the extra of its name; `branches` keeps sessions in step with their histories.

Hosts use them. They use the session and below, and the packages of their framework.
"""
