"""cellward protects statistical tables: least change, sums kept, and a proof. The public names, nothing else."""

from cellward.advise.advice import Advice
from cellward.advise.adviser import advise
from cellward.audit.audit import Audit, audit
from cellward.audit.certificate import verify
from cellward.compare.comparer import compare
from cellward.compare.comparison import Comparison
from cellward.errors import CellwardError, InputError, SolverError, TimeLimitError, VerificationError
from cellward.hierarchy import Hierarchy
from cellward.job import Job
from cellward.protect.adjustment import ControlledAdjustment
from cellward.protect.adjustment.study import DisclosureStudy
from cellward.protect.intervals import IntervalPublication
from cellward.protect.perturbation import CellPerturbation
from cellward.protect.rounding import ControlledRounding
from cellward.protect.stopped import Stopped
from cellward.protect.suppression import CellSuppression
from cellward.protection import Protection
from cellward.publication.knowledge import Knowledge
from cellward.publication.release import Release
from cellward.registry import read, write
from cellward.report.notebook_bar import NotebookBar
from cellward.risk.attacker import Attacker
from cellward.risk.dominance import Dominance
from cellward.risk.manual import Manual
from cellward.risk.p_percent import PPercent
from cellward.risk.policy import Policy
from cellward.risk.prior_posterior import PriorPosterior
from cellward.risk.request import Request
from cellward.risk.threshold import Threshold
from cellward.risk.zero import Zero
from cellward.solve.watch import Standing
from cellward.table.link import link
from cellward.table.table import Table
from cellward.version import __version__

__all__ = [
    "Advice",
    "Attacker",
    "Audit",
    "CellPerturbation",
    "CellSuppression",
    "CellwardError",
    "Comparison",
    "ControlledAdjustment",
    "ControlledRounding",
    "DisclosureStudy",
    "Dominance",
    "Hierarchy",
    "InputError",
    "IntervalPublication",
    "Job",
    "Knowledge",
    "Manual",
    "NotebookBar",
    "PPercent",
    "Policy",
    "PriorPosterior",
    "Protection",
    "Release",
    "Request",
    "SolverError",
    "Standing",
    "Stopped",
    "Table",
    "Threshold",
    "TimeLimitError",
    "VerificationError",
    "Zero",
    "__version__",
    "advise",
    "audit",
    "compare",
    "link",
    "read",
    "verify",
    "write",
]
