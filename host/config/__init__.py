"""The configuration of the host: shapes, the strict reader of `elis.toml`, and the home's layout."""
