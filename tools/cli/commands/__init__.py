"""The commands, a file for each subject; `tools.cli.app` puts them together."""
