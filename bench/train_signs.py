"""Fits what the signs of a question in another language than English weigh: `WEIGHTS` of routing/languages.py.

Run it with `python -m bench.train_signs`. The questions are ours; those after a whole turn count twice, because the
lists were corrected with the others.
The weights are those of the half that is fitted to (`is_check`). Measured is what was not fitted
on: each language with the weights of the others.
"""

import sys
from collections.abc import Sequence
from statistics import mean

import numpy as np
import numpy.typing as npt

from bench.followup_cases import FITTED_PARTS, Judged, is_check, judged_in, languages, turns_in
from bench.report import Report
from threadkeep.conversation.message import Role
from threadkeep_retrieval.routing.languages import WEIGHTS, signs_in

STEPS = 50
PENALTY = 0.1
TURNS_COUNT = 2.0

Numbers = npt.NDArray[np.float64]


def rows(cases: Sequence[Judged]) -> Numbers:
    """Return a row of signs for each question, with a constant behind them."""
    return np.array([[*(sign in signs(case) for sign in WEIGHTS), True] for case in cases], dtype=float)


def signs(case: Judged) -> Sequence[str]:
    """Return the signs of a question."""
    said = {role: [message.content for message in case.history if message.role is role] for role in Role}
    return signs_in(case.question, said[Role.USER], said[Role.ASSISTANT]) or ()


def fit(shown: Numbers, needed: Numbers, counts: Numbers) -> Numbers:
    """Return the weights of a logistic regression, the bias last (Newton's method)."""
    weights = np.zeros(shown.shape[1])
    penalty = np.diag([*[PENALTY] * (shown.shape[1] - 1), 0.01])
    for _ in range(STEPS):
        likely = 1 / (1 + np.exp(-shown @ weights))
        slope = shown.T @ (counts * (likely - needed)) + penalty @ weights
        curve = (shown * (counts * likely * (1 - likely))[:, None]).T @ shown + penalty
        weights -= np.linalg.solve(curve, slope)
    return weights


def balanced(weights: Numbers, shown: Numbers, needed: Numbers) -> float:
    """Return the balanced accuracy of some weights."""
    judged = shown @ weights > 0
    return float((judged[needed == 1].mean() + (~judged[needed == 0]).mean()) / 2)


def main() -> None:
    """Fit the weights and tell how well they do on a language that they were not fitted on."""
    report = Report(sys.stdout)
    report.title("What the signs of other languages weigh")
    names = languages()
    parts = [(name, cases, count) for name in names for cases, count in (
        (judged_in(name), 1.0), (turns_in(name, FITTED_PARTS), TURNS_COUNT)
    )]  # fmt: skip
    shown = np.concatenate([rows(cases) for _, cases, _ in parts])
    needed = np.array([float(case.needs_context) for _, cases, _ in parts for case in cases])
    language = np.array([name for name, cases, _ in parts for _ in cases])
    counts = np.array([count for _, cases, count in parts for _ in cases])
    table, reached = [], []
    for name in names:
        other, turns = language != name, (language == name) & (counts > 1)
        weights = fit(shown[other], needed[other], counts[other])
        reached.append(balanced(weights, shown[turns], needed[turns]))
        table.append([name, f"{balanced(weights, shown[~other], needed[~other]):.3f}", f"{reached[-1]:.3f}"])
    columns = ["language", "all questions", "those after a turn"]
    report.table("Balanced accuracy with the weights of the other eleven", columns, table)
    report.bar("balanced accuracy after a turn, mean", mean(reached), at_least=0.9)
    own = np.array([not is_check(case.question) for _, cases, _ in parts for case in cases])
    for sign, weight in zip((*WEIGHTS, "BIAS"), fit(shown[own], needed[own], counts[own]), strict=True):
        report.note(f"{sign}: {weight:.2f}")
    report.close()


if __name__ == "__main__":
    main()
