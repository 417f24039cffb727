"""The certificate of a host that listens with TLS: judged before it is used, and trusted by clients on this machine.

Above it the composition root, which refuses files that cannot serve, and whatever speaks with the running host. It
refuses to know who listens where. (PAN-2; the contract: Command line.)
"""

import contextlib
import re
import ssl
from pathlib import Path
from typing import Final

from host.errors import SettingsError

_CERTIFICATE: Final = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


def leaf(pem: str) -> str:
    """Return the host's own certificate out of a PEM file, without its chain or a key; "" when there is none."""
    found = _CERTIFICATE.search(pem)
    return found.group() + "\n" if found else ""


def check_pair(certificate: Path, key: Path) -> None:
    """Raise SettingsError, naming the key of the settings and the file, unless both PEM files can serve together."""
    for name, file in (("tls_certificate", certificate), ("tls_key", key)):
        try:
            text = file.read_text(encoding="ascii", errors="replace")
        except OSError as error:
            message = (
                f"[host] {name}: {file} cannot be read ({error.strerror}); name a PEM file that the user who runs "
                "the host may read"
            )
            raise SettingsError(message) from error
        if name == "tls_certificate" and not leaf(text):
            message = f"[host] {name}: {file} holds no certificate; name a PEM file that begins with the host's own"
            raise SettingsError(message)
    try:
        # The empty password stands against a question on the terminal, which nobody of a detached host could answer.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=lambda: "")
    except (ssl.SSLError, OSError) as error:
        message = (
            f"[host] tls_key: {key} is not the unencrypted PEM key of [host] tls_certificate {certificate} ({error}); "
            "name a certificate and its own key"
        )
        raise SettingsError(message) from error


def trust(certificate: Path) -> ssl.SSLContext:
    """Return what accepts exactly `certificate`, whoever issued it and whatever name it carries.

    Without that file the system's authorities and the name decide. Raises SettingsError for a file that is damaged.
    """
    context = ssl.create_default_context()
    with contextlib.suppress(FileNotFoundError):
        pem = certificate.read_text(encoding="ascii", errors="replace")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False  # the address is this machine's; the certificate is known by itself
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # one that an authority issued is trusted without it
        try:
            context.load_verify_locations(cadata=pem)
        except ssl.SSLError as error:
            message = f"{certificate} is damaged ({error}); start the host again, which writes it anew"
            raise SettingsError(message) from error
    return context
