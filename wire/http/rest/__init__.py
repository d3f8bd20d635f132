"""What is scripted for Confluent's REST proxy and for Strimzi's bridge: their formats, errors and consumer instances.

The routes are in `wire/http/routes/rest_*.py`; docs/rest.md tells what is served, and how it differs.
"""
