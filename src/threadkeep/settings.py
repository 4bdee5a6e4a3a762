"""The settings of a process: one frozen object, made once at the edge and handed in.

Flags win over the environment, the environment over the defaults. Nothing else in Threadkeep reads the environment,
and nothing changes a setting after the start.
"""

from collections.abc import Mapping
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from threadkeep.errors import InvalidValue

PREFIX = "THREADKEEP_"


class Settings(BaseModel):
    """What can be set; each field is also the variable `THREADKEEP_<FIELD>` of the environment."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    store: str = Field(default="sqlite:///threadkeep.db", min_length=1)
    host: str = Field(default="127.0.0.1", min_length=1)
    port: int = Field(default=8000, ge=0, le=65535)

    @property
    def store_without_secrets(self) -> str:
        """The store's URL as it may be shown: no password, no options."""
        parts = urlsplit(self.store)
        user, at, address = parts.netloc.rpartition("@")
        shown = parts._replace(netloc=f"{user.partition(':')[0]}{at}{address}", query="", fragment="")
        return shown.geturl() if parts.netloc else self.store.partition("?")[0]


def load_settings(environment: Mapping[str, str], flags: Mapping[str, object]) -> Settings:
    """Read the settings; a flag that is None was not given. Raises InvalidValue naming the setting that is wrong."""
    variables = {name: environment.get(f"{PREFIX}{name.upper()}") or None for name in Settings.model_fields}
    given = {name: value for name, value in [*variables.items(), *flags.items()] if value is not None}
    try:
        return Settings.model_validate(given)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False)[0]
        raise InvalidValue(f"the setting {wrong['loc'][0]} is not valid: {wrong['msg']}") from None
