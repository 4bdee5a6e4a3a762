"""The certified OpenID Connect provider of npm, as a process of its own, and somebody who signs in there."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from urllib.parse import urljoin

import httpx

from tests.browser.server import free_port

ROOT = Path(__file__).parents[1]
CLIENT = {"client_id": "threadkeep", "client_secret": "a secret of the test, thirty-two"}


@contextmanager
def provided(url: str) -> Iterator[str]:
    """Run the provider for a server of ours at an address; yield its own."""
    command = [str(ROOT / part) for part in (".venv/bin/node", "tests/oidc_provider.mjs", ".venv/npm")]
    process = subprocess.Popen(
        [*command, str(free_port()), f"{url}/sign-in/callback", f"{url}/"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,  # `node` of the wheel is a program that starts another
    )
    try:
        assert process.stdout is not None
        issuer = process.stdout.readline().strip()
        assert issuer.startswith("http://"), "the provider did not start"
        yield issuer
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def settings(url: str, issuer: str) -> dict[str, object]:
    """The table `oidc` of a server that knows the provider."""
    return {"name": "Test", "issuer": issuer, "public_url": url, "tenant_claim": "org", **CLIENT}


async def consent(person: httpx.AsyncClient, where: str, user: str) -> str:
    """Sign in at the provider, as a person does on its pages; return where it sends the browser in the end."""
    for _ in range(12):
        answer = await person.get(where)
        if answer.is_redirect:
            where = urljoin(str(answer.url), answer.headers["location"])
        else:
            action = urljoin(str(answer.url), unescape(str(_found(r'action="([^"]+)"', answer.text))))
            prompt = _found(r'name="prompt" value="(\w+)"', answer.text)
            given = {"prompt": prompt, "login": user, "password": "any"} if prompt == "login" else {"prompt": prompt}
            answer = await person.post(action, data=given)
            where = urljoin(str(answer.url), answer.headers["location"])
        if "/sign-in/callback" in where:
            return where
    raise AssertionError(f"the provider leads round in circles: {where}")


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    assert match, text
    return match[1]
