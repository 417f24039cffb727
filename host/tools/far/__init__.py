"""What runs at the far end of a connection, sent there as text and kept in memory alone (BOX-3).

Imports nothing but the standard library, itself and neighbours that do the same: a remote machine has no more than its
own Python. `host.tools.far.loading` names what is sent.
"""
