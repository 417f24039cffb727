"""The back end `ssh`: commands and files on another machine, by the system's `ssh` program (BOX-3)."""
