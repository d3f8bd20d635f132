"""The text door: lines that anybody can type, and payloads of any bytes (docs/text.md)."""
