"""Which addresses are public."""

import pytest

from browser.addresses import is_public


@pytest.mark.clause("BOX-2")
@pytest.mark.parametrize(
    "address", ["8.8.8.8", "93.184.215.14", "1.1.1.1", "2606:4700:4700::1111", "2a00:1450:4001::1"]
)
def test_addresses_of_servers_on_the_internet_are_public(address: str) -> None:
    """Of both versions."""
    assert is_public(address)


@pytest.mark.clause("BOX-2")
@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",  # noqa: S104 - nothing is bound
        "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254", "169.254.0.1",
        "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.0.192", "192.0.2.1", "192.31.196.1",
        "192.52.193.1", "192.88.99.1", "192.168.0.1", "192.175.48.1", "198.18.0.1", "198.19.255.255", "198.51.100.1",
        "203.0.113.1", "224.0.0.1", "233.252.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "168.63.129.16",
        "::", "::1", "::127.0.0.1", "::8.8.8.8", "::ffff:8.8.8.8", "::ffff:127.0.0.1", "64:ff9b::8.8.8.8",
        "64:ff9b::7f00:1", "64:ff9b:1::1", "100::1", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:2::1",
        "2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::1", "2002:808:808::1", "2620:4f:8000::1", "3fff::1",
        "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "ff0e::1",
        "2606:4700:4700::1111%1", "", "example.org", "127.1", "0x7f000001", "2130706433", "8.8.8.8 ", "８.8.8.8",
    ],
)  # fmt: skip
def test_everything_else_is_not(address: str) -> None:
    """Private, local, shared, metadata, documentation, multicast, reserved, and IPv4 addresses inside IPv6 ones."""
    assert not is_public(address)
