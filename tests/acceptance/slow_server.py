"""`threadkeep serve` with a scripted model that takes its time: the first argument is seconds for each word."""

import sys

from threadkeep.cli.main import main
from threadkeep.llm import loading

if __name__ == "__main__":
    vars(loading)["PACE"] = float(sys.argv[1])
    sys.exit(main(["serve", *sys.argv[2:]]))
