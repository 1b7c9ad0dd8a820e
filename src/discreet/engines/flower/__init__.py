"""The same plan over real silos through Flower, the only place that imports ``flwr``.

Server: `server_app` → `service` → `engine`, over a `Wire`. Silo: `client_app` carries bytes to the silo's own
process (`discreet.silo`) and holds neither records nor keys. This file imports nothing, so that a
ClientApp starts without loading torch.
"""
