"""The examples in `deploy/`, as far as they run without a container: a real nginx before two servers, the wheel
in an environment of its own, and nothing in them that Threadkeep does not know."""

import asyncio
import inspect
import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from shutil import copytree, which

import httpx
import yaml
from httpx_sse import aconnect_sse

from tests.browser.server import PATIENCE, Server, free_port
from tests.documents import ROOT, blocks_of
from tests.postgres_server import PostgresServer, Urls
from threadkeep.cli.settings_loading import unknown_variables
from threadkeep.server import app
from threadkeep.server.metrics import ServerMetrics

DEPLOY = ROOT / "deploy"
AT_ONCE = {"Prefer": "respond-async"}
MAIN = """
daemon off; pid {folder}/nginx.pid; error_log stderr;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""


@contextmanager
def nginx(folder: Path, ports: list[int]) -> Iterator[str]:
    """Run nginx with the example before the servers on these ports; yield its URL."""
    own = free_port()
    site = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    key, certificate = folder / "site.key", folder / "site.pem"
    asked = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-days", "2"]
    run([*asked, "-keyout", str(key), "-out", str(certificate)])
    for example, ours in (
        ("listen 80;", f"listen 127.0.0.1:{free_port()};"),
        ("listen 443 ssl;", f"listen 127.0.0.1:{own} ssl;"),
        ("/etc/ssl/certs/chat.example.org.pem", str(certificate)),
        ("/etc/ssl/private/chat.example.org.key", str(key)),
        ("/var/log/nginx/threadkeep.log", str(folder / "access.log")),
        *((f"127.0.0.1:{each}", f"127.0.0.1:{port}") for each, port in zip((8000, 8001), ports, strict=True)),
    ):
        assert example in site
        site = site.replace(example, ours)
    (folder / "site.conf").write_text(site, encoding="utf-8")
    (folder / "nginx.conf").write_text(MAIN.format(folder=folder), encoding="utf-8")
    program = which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    assert program is not None
    with subprocess.Popen([program, "-p", folder, "-c", folder / "nginx.conf"]) as process:
        try:
            yield f"https://127.0.0.1:{own}"
        finally:
            process.terminate()


async def events(client: httpx.AsyncClient, path: str, after: str) -> AsyncGenerator[tuple[str, str], None]:
    """Yield the ids and names of the events of a conversation behind one of them."""
    async with aconnect_sse(client, "GET", path, headers={"Last-Event-ID": after}) as source:
        async for event in source.aiter_sse():
            yield event.id, event.event


async def until(stream: AsyncGenerator[tuple[str, str], None], wanted: str, count: int) -> str:
    """Read events until there were so many of this name; return the id of the last."""
    async with aclosing(stream), asyncio.timeout(PATIENCE):
        async for id, name in stream:
            assert name != "turn.completed" or wanted == name
            count -= name == wanted
            if count == 0:
                return id
    raise AssertionError(f"the stream ended before {wanted}")


async def test_nginx_streams_from_two_servers_and_one_that_dies_is_passed_by(
    postgres_database: Urls, tmp_path: Path
) -> None:
    servers = [Server(tmp_path / name, "--store", postgres_database.server, pace=0.1) for name in ("one", "two")]
    try:
        for server in servers:
            server.folder.mkdir()
            server.start()
        with nginx(tmp_path, [int(server.url.rsplit(":", 1)[1]) for server in servers]) as url:
            transport = httpx.AsyncHTTPTransport(retries=20, verify=False)  # until nginx listens
            async with httpx.AsyncClient(base_url=url, timeout=PATIENCE, transport=transport) as client:
                id = (await client.post("/v1/conversations", json={})).json()["id"]
                path = f"/v1/conversations/{id}"
                sent = await client.post(f"{path}/messages", json={"content": "Tell me a story."}, headers=AT_ONCE)
                assert sent.status_code == 202, sent.text
                # Words come one by one, while the turn still runs.
                last = await until(events(client, f"{path}/events", "0"), "text.delta", 3)
                servers[0].kill()
                await until(events(client, f"{path}/events", last), "turn.completed", 1)
                messages = (await client.get(path)).json()["messages"]
                assert [message["role"] for message in messages] == ["user", "assistant"]
                await client.get("/v1/search?q=something+private")
                await client.get("/s/secret-token")
            log = (tmp_path / "access.log").read_text(encoding="utf-8")
            assert '"GET /v1/search" 200' in log
            assert "private" not in log
            assert "secret-token" not in log
    finally:
        for server in servers:
            server.kill()


def test_the_wheel_has_all_that_migrating_and_serving_need(tmp_path: Path, postgres_server: PostgresServer) -> None:
    copytree(ROOT / "src", tmp_path / "source" / "src", ignore=lambda *_: {"__pycache__"})
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        (tmp_path / "source" / name).write_bytes((ROOT / name).read_bytes())
    environment = tmp_path / "environment"
    venv.create(environment)
    # What Threadkeep requires is borrowed from here; Threadkeep itself, which is only linked to here, is not.
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(environment)]
    run([*pip, "install", "--quiet", "--no-deps", str(tmp_path / "source")])
    folder = tmp_path / "served"
    folder.mkdir()
    port = str(free_port())
    database = postgres_server.fresh_database(migrated=False)
    run([str(environment / "bin" / "threadkeep"), "migrate", "--store", database.owner])
    command = [str(environment / "bin" / "threadkeep"), "serve", "--port", port, "--store", database.server]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[-1]
            page = httpx.get(url, timeout=PATIENCE)
            assert "Threadkeep" in page.text
            for path in re.findall(r'(?:src|href)="(/static/[^"]+)"', page.text):
                assert httpx.get(f"{url}{path}", timeout=PATIENCE).status_code == 200, path
            assert httpx.get(f"{url}/health/ready", timeout=PATIENCE).status_code == 200
        finally:
            process.terminate()
    assert process.returncode == 0


def run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_variable_of_the_examples_is_a_setting() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in DEPLOY.iterdir())
    named = set(re.findall(r"\bTHREADKEEP_[A-Z_]+\b", text))
    assert len(named) > 3
    assert unknown_variables(dict.fromkeys(named, "")) == []


def test_every_file_and_command_that_the_examples_name_is_there() -> None:
    dockerfile = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    for line in re.findall(r"^COPY (?!--from)(.*) \S+$", dockerfile, re.MULTILINE):
        assert all((ROOT / name).exists() for name in line.split()), line
    kept = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8")
    assert all((ROOT / name).exists() for name in re.findall(r"^!(.*)$", kept, re.MULTILINE))
    assert all((DEPLOY / name).exists() for name in re.findall(r"- \./(\S+?):", (DEPLOY / "compose.yaml").read_text()))
    service = (DEPLOY / "threadkeep.service").read_text(encoding="utf-8")
    for verb in ("serve", "migrate"):
        run([sys.executable, "-m", "threadkeep.cli.main", verb, "--help"])
    assert re.findall(r"threadkeep (\w+)$", service, re.MULTILINE)[0] == "serve"


def test_the_script_makes_the_database_that_the_page_about_postgresql_describes() -> None:
    script = (DEPLOY / "create-database.sh").read_text(encoding="utf-8").partition("<<'SQL'\n")[2]
    described = blocks_of("docs/howto/use-postgresql.md")[0].text
    for variable, password in (
        (":'owner_password'", "'owners-password'"),
        (":'server_password'", "'servers-password'"),
    ):
        script = script.replace(variable, password)
    assert script.removesuffix("SQL\n") == described


def test_no_example_starts_with_a_password_or_an_image_that_somebody_else_chose() -> None:
    text = {path.name: path.read_text(encoding="utf-8") for path in DEPLOY.iterdir() if path.is_file()}
    images = re.findall(r"^ +image: (?!\*|&)(\S+)", text["compose.yaml"] + text["kubernetes.yaml"], re.MULTILINE)
    assert len(images) == 4
    bases = re.findall(r"^FROM (\S+)", text["Dockerfile"], re.MULTILINE)
    assert all("@${" in image or "@sha256:FILL" in image for image in (*images, *bases))
    assert "ARG PYTHON_DIGEST\n" in text["Dockerfile"]
    for name, passwords in {name: re.findall(r"://\w+:([^@/]+)@", each) for name, each in text.items()}.items():
        assert all(password.startswith("$") for password in passwords), name
    for variable in re.findall(r"\$\{(\w+(?:PASSWORD|DIGEST))", text["compose.yaml"]):
        assert f"${{{variable}:?" in text["compose.yaml"]


def test_caddy_takes_its_example() -> None:
    run(["caddy", "validate", "--config", str(DEPLOY / "Caddyfile"), "--adapter", "caddyfile"])


def test_the_dashboard_and_the_alerts_ask_for_numbers_that_there_are() -> None:
    metrics = ServerMetrics()
    for watched in map("threadkeep_{}".format, ("running_turns", "open_streams", "mcp_ready", "unreached_tenants")):
        assert f'"{watched}"' in inspect.getsource(app)  # who keeps these numbers is told to metrics there
        metrics.watch(watched, "", lambda: 0)
    shown = metrics.render().decode()
    there = set(re.findall(r"^# TYPE (\w+)", shown, re.MULTILINE))
    for name in ("grafana.json", "alerts.yaml"):
        text = (DEPLOY / name).read_text(encoding="utf-8")
        asked = set(re.findall(r"\bthreadkeep_\w+", text))
        assert len(asked) > 5
        assert {re.sub("_bucket$", "", metric) for metric in asked} <= there
    panels = json.loads((DEPLOY / "grafana.json").read_text(encoding="utf-8"))["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    rules = yaml.safe_load((DEPLOY / "alerts.yaml").read_text(encoding="utf-8"))["groups"][0]["rules"]
    assert all(rule["annotations"]["summary"] and rule["expr"] for rule in rules)
