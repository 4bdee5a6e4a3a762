"""Models of providers through LangChain: any chat model of its by name or instance."""

from threadkeep_integrations.langchain.model import LangChainModel

__all__ = ["LangChainModel"]
