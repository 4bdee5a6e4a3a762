"""Python's collector of garbage, in a process that serves many streams.

It stops everything while it looks through all objects, the longer the more there are: a tenth of a second with a
thousand streams. What was made at the start lives as long as the process, so it need not be looked at; and what is made
later is looked at less often, because little of it is garbage that nothing else frees.
"""

import gc

THRESHOLDS = (20_000, 20, 50)


def calm_collector() -> None:
    """Let the collector pause the server rarely and shortly; to be called when everything is set up."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
