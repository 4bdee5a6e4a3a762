"""`threadkeep doctor`: looks at everything that a server needs, and says what to do about what is missing.

It changes nothing that is there: an SQLite file or folder that does not exist yet is not made. Each check is in
`checks` or `setting_checks`; here they are run one after the other and told.
"""

import argparse
import asyncio
import json
import os
import sys

from threadkeep.cli.checks import CHECKS
from threadkeep.cli.findings import Finding, Grade
from threadkeep.cli.flags import add_setting_flags, given_flags
from threadkeep.cli.trust import read_trusted_file
from threadkeep.settings import Settings, load_settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `threadkeep doctor`."""
    add_setting_flags(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Check, print a line for each finding, and return 1 if something would keep a server from working."""
    settings = load_settings(os.environ, given_flags(arguments), read_trusted_file(os.environ))
    findings = asyncio.run(_findings(settings, as_lines=not arguments.json))
    if arguments.json:
        print(json.dumps([finding._asdict() for finding in findings], indent=2))
    return 1 if any(finding.grade is Grade.FAIL for finding in findings) else 0


async def _findings(settings: Settings, *, as_lines: bool) -> list[Finding]:
    findings = []
    for check in CHECKS:
        async for finding in check(settings):
            findings.append(finding)
            if as_lines:
                _tell(finding)
    return findings


def _tell(finding: Finding) -> None:
    """Print a finding as soon as it is there: a server that does not answer takes its time."""
    advice = f" -> {finding.advice}" if finding.advice else ""
    print(f"{finding.grade:<4}  {finding.what:<12}  {finding.said}{advice}")
    sys.stdout.flush()
