"""Who may reach whom: the flows that are known, the policies that let nothing else through, and what is scraped."""

from planning.network.policies import plan
from planning.network.rules import problems, subject_problems

__all__ = ["plan", "problems", "subject_problems"]
