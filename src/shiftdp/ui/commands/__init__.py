"""One module a command, loaded when the command is used."""
