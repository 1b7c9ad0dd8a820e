"""What a process that holds keys gives up when it starts: core dumps, and being read by its own user."""

from __future__ import annotations

import ctypes
import os
import resource
import sys

_PRIVATE = 0o077
_PR_SET_DUMPABLE = 4  # <linux/prctl.h>; see PR_SET_DUMPABLE(2const)


def harden() -> tuple[str, ...]:
    """Closes this process to others, for good, and returns one line for each thing that could not be done.

    Guarantee:
        No core dump is written, and files made from here on are the owner's alone. On Linux no other
        process, of the same user either, may trace this one or read its memory or environment; root may.

    A process that this one starts by exec begins anew.
    """
    os.umask(_PRIVATE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform != "linux":
        return (
            "ATTENTION: this system cannot close a process's memory to its own user, nor tell who connects; "
            "nothing of either is checked.",
        )
    # A handler of core dumps may ignore the limit above; a process that is not dumpable has none.
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        reason = os.strerror(ctypes.get_errno())
        return (f"ATTENTION: this process's memory could not be closed to its own user: {reason}.",)
    return ()
