"""The web edge: API, sign-in, event streams and the operator's pages."""
