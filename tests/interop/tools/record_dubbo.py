"""Records what a consumer and a provider say to each other about metadata over the dubbo protocol.

  tools/py.sh record_dubbo.py ZK-ADDRESS APP NAME

Stands between the two: listens, and writes its own port into url-params of the one instance of APP. Forwards all that
comes, and writes the body of the first request and of the first answer that are no heartbeats to NAME_request.bin and
NAME_answer.bin (what follows the 16 bytes of the header). Prints "ready" once a consumer may start, and ends after both.
"""
import json
import pathlib
import socket
import struct
import sys
import threading

from kazoo.client import KazooClient

HEADER = 16
HEARTBEAT = 0x20


def redirect(address, app, port):
    """Where the provider's MetadataService is, which from now on is at port."""
    zk = KazooClient(hosts=address)
    zk.start()
    try:
        (child,) = zk.get_children(f"/services/{app}")
        path = f"/services/{app}/{child}"
        node = json.loads(zk.get(path)[0])
        metadata = node["payload"]["metadata"]
        params = json.loads(metadata["dubbo.metadata-service.url-params"])
        target = (node["address"], int(params["port"]))
        params["port"] = str(port)
        metadata["dubbo.metadata-service.url-params"] = json.dumps(params, separators=(",", ":"))
        zk.set(path, json.dumps(node, separators=(",", ":")).encode())
        return target
    finally:
        zk.stop()


def forward(source, sink, path, done):
    data = b""
    written = False
    while part := source.recv(65536):
        sink.sendall(part)
        data += part
        while len(data) >= HEADER and len(data) >= HEADER + struct.unpack(">I", data[12:16])[0]:
            end = HEADER + struct.unpack(">I", data[12:16])[0]
            if not written and not data[2] & HEARTBEAT:
                path.write_bytes(data[HEADER:end])
                print(f"{path}: header {data[:HEADER].hex()}", flush=True)
                written = True
                done.set()
            data = data[end:]
    try:
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the other side has gone already


def main():
    address, app, name = sys.argv[1:]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        target = redirect(address, app, listener.getsockname()[1])
        print("ready", flush=True)
        consumer, _ = listener.accept()
    provider = socket.create_connection(target)
    done = [threading.Event(), threading.Event()]
    for source, sink, what, event in ((consumer, provider, "request", done[0]), (provider, consumer, "answer", done[1])):
        path = pathlib.Path(f"{name}_{what}.bin")
        threading.Thread(target=forward, args=(source, sink, path, event), daemon=True).start()
    return 0 if all([event.wait(30) for event in done]) else 1


if __name__ == "__main__":
    sys.exit(main())
