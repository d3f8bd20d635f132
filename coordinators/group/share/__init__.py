"""Share groups (KIP-932): many members may read one partition, and each record is acknowledged by itself.

Here are their members, who reads what, and where they begin; what is handed out is the business of each partition's
leader (`coordinators/share/`).
"""
