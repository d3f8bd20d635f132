"""The routes, a file for each subject. A file has `ROUTES`; whatever lies here is served and documented."""
