"""A chat page in Streamlit, in front of a Threadkeep server.

    pip install 'threadkeep[streamlit]'
    threadkeep serve
    streamlit run examples/streamlit_chat.py

The page keeps nothing: the server has the history, and the id of the conversation is in the address of the page. So a
refresh, another tab or another device shows the same conversation, in the middle of an answer too. The server's address
is `THREADKEEP_URL`, and where it asks for a key, `THREADKEEP_KEY`; both can be changed in the sidebar.
"""

import json
import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import streamlit as st
from httpx_sse import connect_sse

ADDRESS = "http://127.0.0.1:8000"
PREFERRED = "skillian"
ENDS = ("turn.completed", "turn.failed", "turn.cancelled", "turn.interrupted", "turn.waiting")

Json = dict[str, Any]


def main() -> None:
    """Draw the page: the sidebar, the conversation so far, the answer that is being written, and the input."""
    st.set_page_config(page_title="Threadkeep", page_icon="🧵")
    url = st.sidebar.text_input("Server", os.environ.get("THREADKEEP_URL", ADDRESS))
    key = st.sidebar.text_input("API key", os.environ.get("THREADKEEP_KEY", ""), type="password").strip()
    try:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        with httpx.Client(base_url=url, headers=headers, timeout=httpx.Timeout(30, read=60)) as client:
            chat(client)
    except httpx.HTTPStatusError as error:
        st.error(f"The server refused this: {detail(error.response)}")
    except (httpx.TransportError, httpx.InvalidURL):
        st.error(f"No server answers at {url}. Start one with `threadkeep serve`, or change the address on the left.")
        st.button("Try again")


def chat(client: httpx.Client) -> None:
    """Show the conversation that the address names, or the beginning of a new one, and take up a question."""
    assistants = {each["name"]: each for each in ask(client, "GET", "/v1/assistants")["data"]}
    names = sorted(assistants, key=lambda name: name != PREFERRED)
    chosen = assistants[st.sidebar.selectbox("Assistant of a new chat", names)]
    if st.sidebar.button("New Chat", width="stretch"):
        st.query_params.clear()
    question = st.chat_input("Your question")
    if "conversation" in st.query_params:
        cursor = show_history(client, path_of(st.query_params["conversation"]))
    elif question:
        st.query_params["conversation"] = ask(client, "POST", "/v1/conversations", {"assistant": chosen["name"]})["id"]
        cursor = None
    else:
        st.caption("  \n".join([chosen["description"], *(f"“{example}”" for example in chosen["examples"])]))
        return
    path = path_of(st.query_params["conversation"])
    if question:
        st.chat_message("user").markdown(plain(question))
        show_turn(events(client, "POST", f"{path}/messages", json={"content": question}))
    elif cursor:
        show_turn(events(client, "GET", f"{path}/events", params={"after": cursor}))


def show_history(client: httpx.Client, path: str) -> str | None:
    """Show what is stored of a conversation; while a turn runs in it, return the cursor behind what was shown."""
    whole = ask(client, "GET", f"{path}?limit=200")
    st.sidebar.caption(f"{whole['title'] or 'Conversation'} with {whole['assistant']}")
    if whole["before"]:
        st.caption("What was said earlier is kept, but not shown here.")
    results = {each["tool_result"]["tool_call_id"]: each for each in whole["messages"] if each["role"] == "tool"}
    for message in whole["messages"]:
        if message["role"] != "tool":
            show_message(message, results)
    states = {turn["state"] for turn in whole["turns"]}
    if "waiting" in states:
        st.warning("A tool call waits until somebody allows it.")
    return str(whole["cursor"]) if states - {"waiting"} else None


def show_message(message: Json, results: dict[str, Json]) -> None:
    """Show a message: its text, its blocks, and the tools that it calls with what they gave back."""
    with st.chat_message(message["role"]):
        if message["content"]:
            st.markdown(plain(message["content"]))
        for block in message.get("blocks", []):
            show_block(block)
        for call in message.get("tool_calls", []):
            result = results.get(call["id"])
            with st.expander(f"Tool: {call['name']}", icon=":material/build:"):
                st.json(call["args"])
                if result:
                    show_result(result["content"])


def show_turn(told: Iterator[tuple[str, Json]]) -> None:
    """Show a turn while it happens: text as it comes, tools as they run. At its end the page is drawn from the log."""
    with st.chat_message("assistant"):
        text, place, running = "", st.empty(), {}
        for name, data in told:
            match name:
                case "message.started":
                    text, place = "", st.empty()
                case "text.delta":
                    text += data["text"]
                    place.markdown(plain(text))
                case "tool.called":
                    running[data["id"]] = st.status(f"Tool: {data['name']}")
                    running[data["id"]].json(data["args"])
                case "tool.result" if data["tool_call_id"] in running:
                    running[data["tool_call_id"]].update(state="error" if data["error"] else "complete")
                case "turn.failed":
                    st.error(f"The turn failed: {data['failure']['detail']}")
                    return
    st.rerun()


def show_result(content: str) -> None:
    """Show what a tool gave back: JSON as JSON, everything else as it is."""
    try:
        st.json(json.loads(content))
    except ValueError:
        st.code(content, language=None, wrap_lines=True)


def show_block(block: Json) -> None:
    """Show a part of an answer that is easier to see than to read."""
    match block["type"]:
        case "narrative":
            st.markdown(plain(block["text"]))
        case "table":
            st.table([dict(zip(block["columns"], map(cell, row), strict=False)) for row in block["rows"]])
        case "ranked_list":
            st.table([{name: cell(value) for name, value in row.items()} for row in block["rows"]])
        case "split_compare":
            for column, side in zip(st.columns(2), ("left", "right"), strict=True):
                column.markdown(f"**{plain(block[f'{side}Title'])}**")
                shown = block[side] if isinstance(block[side], dict) else {"": block[side]}
                column.table({name: cell(value) for name, value in shown.items()})
        case "chart" if all("points" in series for series in block["series"]):
            points = [{**point, "name": series["name"]} for series in block["series"] for point in series["points"]]
            if block["chart"] == "bar":
                st.bar_chart(points, x="x", y="y", color="name", x_label="", y_label="", sort=False)
            else:
                st.line_chart(points, x="x", y="y", color="name", x_label="", y_label="")
        case _:
            st.json(block, expanded=False)


def cell(value: object) -> str:
    """Return a value for a table, numbers with separators."""
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def ask(client: httpx.Client, method: str, path: str, body: Json | None = None) -> Any:
    """Call the server and return its answer."""
    return client.request(method, path, json=body).raise_for_status().json()


def events(client: httpx.Client, method: str, path: str, **request: Any) -> Iterator[tuple[str, Json]]:
    """Yield what happens in a conversation until a turn ends. The turn does not need us: it runs on the server."""
    with connect_sse(client, method, path, **request) as source:
        if source.response.is_error:
            source.response.read()
            source.response.raise_for_status()
        for event in source.iter_sse():
            if event.data:
                yield event.event, json.loads(event.data)
            if event.event in ENDS and method == "GET":
                return


def detail(answer: httpx.Response) -> str:
    """Return what a problem says."""
    try:
        return str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return f"{answer.status_code} {answer.reason_phrase}"


def path_of(conversation: str) -> str:
    """Return where a conversation is; its id comes from an address that anybody can write."""
    return f"/v1/conversations/{quote(conversation, safe='')}"


def plain(text: str) -> str:
    """Return Markdown in which amounts of dollars are no formulas."""
    return text.replace("$", "\\$")


if __name__ == "__main__":
    main()
