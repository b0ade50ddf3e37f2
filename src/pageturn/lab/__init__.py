"""Lab: replays recorded sessions under policies, baselines, other libraries and an oracle, and measures cost and coverage.

Apps use it. It uses the session and below, and it alone may look ahead in a session.
"""

from pageturn.policies import OracleReplay

__all__ = ["OracleReplay"]
