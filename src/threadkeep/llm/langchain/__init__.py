"""Models of providers through LangChain: any chat model of its by name or instance."""

from threadkeep.llm.langchain.model import LangChainModel

__all__ = ["LangChainModel"]
