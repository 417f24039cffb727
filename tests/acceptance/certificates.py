"""Certificates with their keys, made by openssl for one test."""

import subprocess
from pathlib import Path

import msgspec

BOUND_SECONDS = 30.0
_CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """A PEM certificate with its key."""

    certificate: Path
    key: Path


def made(
    folder: Path, name: str, *, password: str = "", issuer: Pair | None = None, alternative: str = "DNS:example.org"
) -> Pair:
    """Make a certificate that lasts a day: self-signed, or issued by `issuer` and followed by it.

    `alternative` is whom it is for, as openssl writes it.
    """
    pair = Pair(certificate=folder / f"{name}.pem", key=folder / f"{name}.key")
    secret = ("-passout", f"pass:{password}") if password else ("-nodes",)
    signed = ("-CA", str(issuer.certificate), "-CAkey", str(issuer.key)) if issuer else ()
    subject = ("-days", "1", "-subj", f"/CN={name}", "-addext", f"subjectAltName={alternative}")
    files = ("-keyout", str(pair.key), "-out", str(pair.certificate))
    command = ["openssl", "req", "-x509", *_CURVE, *secret, *signed, *subject, *files]
    subprocess.run(command, check=True, capture_output=True, timeout=BOUND_SECONDS)
    if issuer:
        pair.certificate.write_text(pair.certificate.read_text() + issuer.certificate.read_text())
    return pair
