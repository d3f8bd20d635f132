"""Tenants: namespaces with principals and limits of their own, which never see each other."""
