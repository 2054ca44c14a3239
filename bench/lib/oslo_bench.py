"""One side of oslo.messaging in the benchmark: server URL, or client URL; started by rabbit.ts."""
import sys
import threading
import time

from oslo_config import cfg
import oslo_messaging

role, url = sys.argv[1:3]
cfg.CONF([], project='bench')
transport = oslo_messaging.get_rpc_transport(cfg.CONF, url)
target = oslo_messaging.Target(topic='bench', server='one')
SMALL = {'id': 'a1b2c3d4', 'name': 'instance-0001', 'flavor': {'vcpus': 2, 'memory_mb': 512}, 'tags': ['x', 'y']}


class Endpoint(object):
    def echo(self, ctxt, message):
        return message


def serve():
    server = oslo_messaging.get_rpc_server(transport, target, [Endpoint()], executor='threading')
    server.start()
    print('ready', flush=True)
    sys.stdin.read()
    server.stop()
    server.wait()


def call():
    client = oslo_messaging.get_rpc_client(transport, oslo_messaging.Target(topic='bench'))
    client.call({}, 'echo', message=SMALL)
    print('ready', flush=True)
    for line in sys.stdin:
        times, concurrency = (int(word) for word in line.split())

        def work():
            for _ in range(times // concurrency):
                client.call({}, 'echo', message=SMALL)

        threads = [threading.Thread(target=work) for _ in range(concurrency)]
        started = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(times / (time.monotonic() - started), flush=True)


serve() if role == 'server' else call()
