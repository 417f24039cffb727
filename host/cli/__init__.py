"""The command line: speaks to the API, prints, exits."""
