"""The flags that set settings, shared by the commands that serve, show and check them."""

import argparse


def add_setting_flags(parser: argparse.ArgumentParser) -> None:
    """Declare a flag for each setting that a command line sets; one that is not given is None."""
    parser.add_argument("--host", help="the address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, help="the port to listen on, 0 for any free one (default: 8000)")
    parser.add_argument(
        "--store", metavar="URL", help="where conversations are kept (default: sqlite:///threadkeep.db)"
    )
    parser.add_argument(
        "--auth", choices=["none", "keys"], help="whether people must sign in with API keys (default: none)"
    )
    parser.add_argument(
        "--model", help="the model that answers, such as openai:gpt-5 (default: what is found, or demo)"
    )


def given_flags(arguments: argparse.Namespace) -> dict[str, object]:
    """Return the values of these flags."""
    parser = argparse.ArgumentParser(add_help=False)
    add_setting_flags(parser)
    return {name: getattr(arguments, name) for name in vars(parser.parse_args([]))}
