"""Primitives that are safe only when used exactly as their callers in this package use them.

Nothing here checks who is asking: a reused mask key, a share set below its threshold or a wrong context
breaks secrecy silently. Use `discreet.secagg` instead unless you are writing a protocol.
"""
