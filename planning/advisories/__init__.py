"""Published security advisories of engines, and which of them a stack meets.

A service meets an advisory if its engine has an affected version, and the service does what the advisory requires.
"""

from planning.advisories.rules import judge
from planning.advisories.table import Advisory, affecting, is_known
from planning.advisories.verdicts import Exposure, exposure

__all__ = ["Advisory", "Exposure", "affecting", "exposure", "is_known", "judge"]
