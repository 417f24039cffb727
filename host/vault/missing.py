"""The words of SecretMissing, and the bound of a value: shared by all places where secrets are kept."""

from typing import Final

from host.config.references import Reference
from host.errors import SecretMissing

LARGEST_BYTES: Final = 16 * 1024  # a key file has some 3 KiB; masking looks for every encoding of a lent value


def missing(reference: Reference, cause: str) -> SecretMissing:
    """Return the error that names the reference, why there is no value, and what to do."""
    return SecretMissing(f"{reference.text} yields no secret: {cause}")


def as_text(reference: Reference, data: bytes, where: str) -> str:
    """Return `data` as text; raise SecretMissing where it is none."""
    try:
        text = data.decode("utf-8-sig")  # an editor may have begun it with a mark of its own
    except UnicodeDecodeError:
        raise missing(reference, f"{where} holds no UTF-8 text; keep text there, base64 for instance") from None
    if "\0" in text:
        raise missing(reference, f"{where} holds NUL characters; keep text there, base64 for instance")
    return text
