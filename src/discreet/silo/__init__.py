"""A data owner's resident process: it holds records, keys, policy and ledger, and answers requests.

Whatever carries the requests (Flower, a test) sees bytes only. It never holds a record or a key. This file
imports nothing, so that a carrier starts without loading torch.
"""
