"""Which addresses are public: those that a connection on behalf of a model may be made to.

Told by what is public and not by what is dangerous: whatever a registry has not given out for use on the open Internet
is refused, and so is every IPv6 form that carries an IPv4 address inside, wherever that would lead. Pure.
"""

import ipaddress
from typing import Final

# What `ipaddress` calls global in some of its versions, and what still is nobody's public server.
_NOT_IPV4: Final = tuple(
    ipaddress.IPv4Network(network)
    for network in (
        "192.0.0.0/24",  # IETF protocol assignments; Oracle's metadata service answers at 192.0.0.192
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # 6to4 relays
        "192.175.48.0/24",  # AS112
        "168.63.129.16/32",  # the service of Azure's machines, reached by a public number from inside
        "100.64.0.0/10",  # carrier-grade NAT; Alibaba's metadata service lies in it
        "198.18.0.0/15",  # benchmarks
    )
)
_GIVEN_OUT: Final = ipaddress.IPv6Network("2000::/3")  # the only block that IANA has given out for unicast
_NOT_IPV6: Final = tuple(
    ipaddress.IPv6Network(network)
    for network in (
        "2001::/23",  # IETF protocol assignments: Teredo (an IPv4 address inside), ORCHID, benchmarks
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: an IPv4 address inside
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)


def is_public(address: str) -> bool:
    """Say whether `address`, as a resolver gives it, may be connected to; anything that is no address may not."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if not parsed.is_global or parsed.is_multicast or parsed.is_reserved or parsed.is_unspecified:
        return False
    if isinstance(parsed, ipaddress.IPv4Address):
        return not any(parsed in network for network in _NOT_IPV4)
    # 64:ff9b::/96 (NAT64), ::ffff:0:0/96 (mapped) and ::/96 (compatible) lie outside of what is given out.
    return parsed.scope_id is None and parsed in _GIVEN_OUT and not any(parsed in network for network in _NOT_IPV6)
