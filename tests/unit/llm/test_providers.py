"""The table of providers: keys, addresses and the lines that install what they need."""

from threadkeep.llm.providers import PROVIDERS, all_with_keys, langchain_line, pip_line, provider_named


def test_every_provider_of_the_table_can_be_installed() -> None:
    for provider in PROVIDERS:
        assert pip_line(provider.name).startswith("pip install 'threadkeep[")
    assert pip_line("cohere") == "pip install 'threadkeep[langchain]' langchain-cohere"
    assert langchain_line("openai") == "pip install 'threadkeep[langchain]' langchain-openai"


def test_every_provider_says_where_it_lists_its_models() -> None:
    assert [provider.name for provider in PROVIDERS if not provider.api.startswith("http")] == []


def test_the_first_address_and_key_that_are_set_count_and_an_empty_one_does_not() -> None:
    openai, google = provider_named("openai"), provider_named("google_genai")
    assert openai is not None
    assert google is not None
    assert openai.url({}) == "https://api.openai.com/v1"
    assert openai.url({"OPENAI_BASE_URL": "", "OPENAI_API_BASE": "127.0.0.1:1/v1/"}) == "http://127.0.0.1:1/v1"
    assert google.key({"GOOGLE_API_KEY": " ", "GEMINI_API_KEY": " g "}) == "g"


def test_a_key_goes_into_the_header_of_its_provider_and_without_one_into_none() -> None:
    openai, google = provider_named("openai"), provider_named("google_genai")
    assert openai is not None
    assert google is not None
    assert openai.headers("k", {"OPENAI_ORG_ID": "o"}) == {"OpenAI-Organization": "o", "Authorization": "Bearer k"}
    assert google.headers("k", {}) == {"x-goog-api-key": "k"}
    assert openai.headers("", {}) == {}


def test_a_provider_with_two_keys_is_offered_once() -> None:
    keys = {"GOOGLE_API_KEY": "a", "GEMINI_API_KEY": "b", "XAI_API_KEY": "c", "GROQ_API_KEY": ""}
    assert all_with_keys(keys) == ("google_genai:*", "xai:*")
    assert provider_named("nobody") is None
