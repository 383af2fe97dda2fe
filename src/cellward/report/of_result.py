"""What is shown of a result on request: both tables, the deviations, and what attackers make of an adjustment. Confidential."""

from __future__ import annotations

from cellward.protect.adjustment.details import AdjustmentDetails
from cellward.protect.adjustment.study import DisclosureStudy
from cellward.protection import Protection
from cellward.report.section import Section
from cellward.report.sections.deviations import Deviations
from cellward.report.sections.study import study_section
from cellward.report.sections.tables import tables


def shown_of(result: Protection) -> list[Section]:
    """The sections for the data holder's eyes."""
    out = [tables(result), Deviations.of(result).section()]
    if isinstance(result.details, AdjustmentDetails) and result.protected is not None:
        out.append(study_section(DisclosureStudy(result)))
    return out
