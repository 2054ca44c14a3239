"""A peer that speaks oslo.messaging, told what to do by JSON lines on stdin; it answers by JSON lines on stdout.

Start: oslo_peer.py URL [JSON options: config_file, allowed_remote_exmods]
Each command is {"id": N, "command": NAME, ...} and runs in a thread of its own; its answer is
{"id": N, "result": ...} or {"id": N, "error": {type, module, mro, text, args}}.
What a server is given to do is told as it starts: {"event": "handling", server, topic, namespace, method, context, args};
of a listener to notifications the method is the priority, the topic the event type.
It ends when stdin does.
"""

import importlib
import json
import logging
import os
import sys
import threading
import time

import oslo_messaging
from oslo_config import cfg

LOCK = threading.Lock()
SERVERS = {}
HELD = {}


def say(line):
    text = json.dumps(line, default=repr)
    with LOCK:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def gate(key):
    with LOCK:
        return HELD.setdefault(key, threading.Event())


def described(error):
    return {
        "type": type(error).__name__,
        "module": type(error).__module__,
        "mro": [c.__name__ for c in type(error).__mro__],
        "text": str(error),
        "args": list(getattr(error, "args", ())),
    }


class PeerError(Exception):
    """A class that no other side knows."""


def error_class(name):
    if name == "PeerError":
        return PeerError
    module, _, cls = name.rpartition(".")
    return getattr(importlib.import_module(module or "builtins"), cls)


class Endpoint:
    """What every server can do. `target` tells the namespace and version."""

    def __init__(self, transport, url_server, topic, namespace, version):
        self.target = oslo_messaging.Target(namespace=namespace, version=version)
        self._transport = transport
        self._where = {"server": url_server, "topic": topic, "namespace": namespace}

    def _tell(self, method, ctxt, args):
        say({"event": "handling", "method": method, "context": ctxt, "args": args, **self._where})

    def echo(self, ctxt, **args):
        self._tell("echo", ctxt, args)
        return args

    def add(self, ctxt, a, b):
        self._tell("add", ctxt, {"a": a, "b": b})
        return a + b

    def who(self, ctxt):
        self._tell("who", ctxt, {})
        return self._where["server"]

    def context(self, ctxt):
        self._tell("context", ctxt, {})
        return ctxt

    def fail(self, ctxt, type, args=()):
        self._tell("fail", ctxt, {"type": type, "args": args})
        raise error_class(type)(*args)

    @oslo_messaging.expected_exceptions(ValueError)
    def expected(self, ctxt, text):
        self._tell("expected", ctxt, {"text": text})
        raise ValueError(text)

    def slow(self, ctxt, seconds, value=None):
        self._tell("slow", ctxt, {"seconds": seconds, "value": value})
        time.sleep(seconds)
        return value

    def hold(self, ctxt, key, value=None):
        """Returns when the command `release` names the key."""
        self._tell("hold", ctxt, {"key": key, "value": value})
        gate(key).wait()
        return value

    def nested(self, ctxt, topic, then, args, timeout=10, server=None, namespace=None):
        """Calls the method `then` of another topic: no argument of a call can be named `method`."""
        self._tell("nested", ctxt, {"topic": topic, "then": then, "args": args})
        target = oslo_messaging.Target(topic=topic, server=server, namespace=namespace)
        return oslo_messaging.RPCClient(self._transport, target, timeout=timeout).call(ctxt, then, **args)


def listening(name, priorities, requeue):
    """An endpoint with a method for each priority, which hands back the first so many notifications."""
    left = [requeue]

    def handle(level):
        def method(self, ctxt, publisher_id, event_type, payload, metadata):
            args = {"publisher_id": publisher_id, "payload": payload, "metadata": metadata}
            say({"event": "handling", "server": name, "topic": event_type, "namespace": None, "method": level,
                 "context": ctxt, "args": args})
            left[0] -= 1
            return oslo_messaging.NotificationResult.REQUEUE if left[0] >= 0 else None
        return method

    return type("Listening", (), {level: handle(level) for level in priorities})()


class Peer:
    def __init__(self, url, options):
        config = options.get("config_file")
        # The global object, called once: with one of its own the library fails at the first call.
        cfg.CONF(["--config-file", config] if config else [], project="ebbgate-peer")
        exmods = options.get("allowed_remote_exmods") or []
        self._url = url
        self._notification_transport = None
        self.transport = oslo_messaging.get_rpc_transport(cfg.CONF, url, allowed_remote_exmods=exmods)

    def start_server(self, topic, server, exchange=None, endpoints=None, name=None, access_policy=None):
        target = oslo_messaging.Target(topic=topic, server=server, exchange=exchange)
        made = [
            Endpoint(self.transport, server, topic, one.get("namespace"), one.get("version"))
            for one in (endpoints or [{}])
        ]
        policy = getattr(oslo_messaging, access_policy) if access_policy else oslo_messaging.DefaultRPCAccessPolicy
        running = oslo_messaging.get_rpc_server(
            self.transport, target, made, executor="threading", access_policy=policy
        )
        running.start()
        SERVERS[name or server] = running

    def start_listener(self, name, topics, priorities, pool=None, requeue=0):
        targets = [oslo_messaging.Target(topic=topic) for topic in topics]
        running = oslo_messaging.get_notification_listener(
            self._notifications(), targets, [listening(name, priorities, requeue)], executor="threading",
            allow_requeue=True, pool=pool
        )
        running.start()
        SERVERS[name] = running

    def notify(self, driver, priority, event_type, payload, topics, publisher_id=None, context=None):
        notifier = oslo_messaging.Notifier(
            self._notifications(), publisher_id=publisher_id, driver=driver, topics=topics
        )
        getattr(notifier, priority)(context or {}, event_type, payload)

    def stop_server(self, name):
        SERVERS[name].stop()

    def wait_server(self, name):
        SERVERS[name].wait()

    def call(self, method, args=None, context=None, **where):
        return self._client(**where).call(context or {}, method, **(args or {}))

    def cast(self, method, args=None, context=None, **where):
        self._client(**where).cast(context or {}, method, **(args or {}))

    def fanout(self, method, args=None, context=None, **where):
        self._client(fanout=True, **where).cast(context or {}, method, **(args or {}))

    def release(self, key):
        gate(key).set()

    def ready(self):
        return oslo_messaging.__name__

    def _notifications(self):
        with LOCK:
            if self._notification_transport is None:
                self._notification_transport = oslo_messaging.get_notification_transport(cfg.CONF, self._url)
            return self._notification_transport

    def _client(self, topic, fanout=None, timeout=None, call_monitor_timeout=None, version_cap=None, retry=None,
                at_least_once=False, **target):
        """`target`: exchange, server, namespace, version."""
        options = oslo_messaging.TransportOptions(at_least_once=True) if at_least_once else None
        return oslo_messaging.RPCClient(
            self.transport,
            oslo_messaging.Target(topic=topic, fanout=fanout, **target),
            timeout=timeout,
            version_cap=version_cap,
            retry=retry,
            call_monitor_timeout=call_monitor_timeout,
            transport_options=options,
        )


COMMANDS = {
    "start_server", "stop_server", "wait_server", "call", "cast", "fanout", "release", "ready", "start_listener",
    "notify",
}


def run(peer, line):
    number = line.pop("id")
    try:
        name = line.pop("command")
        if name not in COMMANDS:
            raise KeyError("no command %s" % name)
        say({"id": number, "result": getattr(peer, name)(**line)})
    except BaseException as error:  # whatever it is, the other side is told
        say({"id": number, "error": described(error)})


def main():
    logging.basicConfig(stream=sys.stderr, level=logging.INFO)
    peer = Peer(sys.argv[1], json.loads(sys.argv[2]) if len(sys.argv) > 2 else {})
    for text in sys.stdin:
        threading.Thread(target=run, args=(peer, json.loads(text)), daemon=True).start()
    os._exit(0)


main()
