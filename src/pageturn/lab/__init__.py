"""Lab: what a policy would have shown, kept and cost on recorded sessions, beside baselines, other libraries and an oracle.

Apps use it. It uses the session and below, and may look at what comes next, which nothing below may.
"""

from pageturn.policies import OracleReplay

__all__ = ["OracleReplay"]
