"""What users thought of answers, by user and model; only administrators of the tenant see it, and it is on record."""

from tests.integration.serving import Server, assert_problem, serving
from threadkeep.conversation.api_key import KeyRole

PATH = "/v1/admin/feedback"


async def _rate(server: Server, headers: dict[str, str], *ratings: str | None) -> str:
    """Ask something, rate the answer once after the other, and return the conversation."""
    made = (await server.client.post("/v1/conversations", headers=headers)).json()["id"]
    path = f"/v1/conversations/{made}/messages"
    answer = (await server.client.post(path, headers=headers, json={"content": "My name is Ada."})).json()["message"]
    for rating in ratings:
        rated = await server.client.post(f"{path}/{answer['seq']}/feedback", headers=headers, json={"rating": rating})
        rated.raise_for_status()
    return str(made)


async def test_ratings_are_counted_once_by_user_and_model_also_when_the_answer_is_gone() -> None:
    async with serving(auth="keys") as server:
        _, ada = await server.key("acme", "ada")
        _, bob = await server.key("acme", "bob")
        _, root = await server.key("acme", "root", KeyRole.ADMIN)
        _, other = await server.key("globex", "root", KeyRole.ADMIN)
        await _rate(server, ada, "down", "up")
        await _rate(server, ada, "up")
        await _rate(server, ada, "up", None)
        gone = await _rate(server, bob, "down")
        await server.client.delete(f"/v1/conversations/{gone}", headers=bob)
        assert_problem(await server.client.get(PATH, headers=ada), 403, "not_allowed")
        assert_problem(await server.client.get(PATH, params={"days": 0}, headers=root), 422, "invalid_request")
        assert (await server.client.get(PATH, headers=root)).json() == {
            "data": [
                {"user": "ada", "model": "demo", "up": 2, "down": 0},
                {"user": "bob", "model": None, "up": 0, "down": 1},
            ],
            "is_whole": True,
        }
        assert (await server.client.get(PATH, headers=other)).json() == {"data": [], "is_whole": True}
        acts = (await server.client.get("/v1/audit", params={"action": "feedback.read"}, headers=root)).json()["data"]
        assert len(acts) == 1
