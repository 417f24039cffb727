"""Pages as documents: Jinja templates with the few values every page needs, escaped without exception.

Below the routes; knows no group. Pages hold no secrets: what a script needs beyond this it asks the API for.
"""

from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Final

import jinja2
from litestar import MediaType, Response

from host.panel.assets import Assets

TEMPLATES: Final = Path(__file__).parent / "templates"


class Documents:
    """Renders templates."""

    def __init__(self, assets: Assets, host_name: str) -> None:
        """Link to `assets`; `host_name` stands in titles."""
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(TEMPLATES),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._everywhere = {"asset": assets.url, "host_name": host_name}

    def page(
        self,
        template: str,
        values: Mapping[str, object] | None = None,
        *,
        status: int = HTTPStatus.OK,
        headers: Mapping[str, str] | None = None,
    ) -> Response[str]:
        """Return a page."""
        text = self._environment.get_template(template).render({**self._everywhere, **(values or {})})
        return Response(text, media_type=MediaType.HTML, status_code=status, headers=dict(headers or {}))

    def failure(self, status: int, title: str, detail: str, headers: Mapping[str, str]) -> Response[str]:
        """Return the page that says what went wrong and what to do next."""
        template = "signed_out.html" if status == HTTPStatus.UNAUTHORIZED else "failure.html"
        return self.page(template, {"title": title, "detail": detail}, status=status, headers=headers)
