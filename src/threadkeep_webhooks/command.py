"""`threadkeep webhooks`: the addresses that get what happens in a tenant, a test of one, and what was given up."""

import argparse

from threadkeep_commands.opening import add_tenant_flag, checked_settings, new_action, opened
from threadkeep_webhooks.routes import attempt_test
from threadkeep_webhooks.wiring import means_of

MOST_SHOWN = 100


def add_webhooks_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="list|test|dead")
    add_tenant_flag(new_action(actions, "list", "list the addresses that get what happens"), "whose webhooks")
    for name, purpose in (("test", "send a test to one"), ("dead", "list what was given up for one")):
        action = new_action(actions, name, purpose)
        action.add_argument("id", help="the id that `list` shows")
        add_tenant_flag(action, "whose webhooks")


async def run_webhooks(arguments: argparse.Namespace) -> int:
    settings = checked_settings(arguments.store)
    async with opened(arguments.store) as conversations:
        means = means_of(conversations, settings)
        if arguments.action == "list":
            for target in await means.targets.of(arguments.tenant):
                print(f"{target.id}  {target.url}  {','.join(target.events)}")
            return 0
        target = await means.targets.find(arguments.tenant, arguments.id)
        if arguments.action == "dead":
            for letter in await means.targets.buried(target, limit=MOST_SHOWN):
                place = f"{letter.conversation} {letter.seq}"
                print(f"{letter.id}  {letter.at:%Y-%m-%d %H:%M}  {letter.type}  {place}  {letter.reason}")
            return 0
        tried = await attempt_test(means, target)
        print(f"delivered in {tried.seconds} s" if tried.delivered else f"not delivered: {tried.detail}")
        return 0 if tried.delivered else 1
