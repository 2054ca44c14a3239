"""A peer that is Nova: its RPC client of compute hosts, its objects, and a server that takes what a compute host takes.

Start: nova_peer.py URL JSON-with-config_file. It is told what to do as oslo_peer.py is: JSON lines on stdin, JSON lines on
stdout. Objects are given and told in their wire form, and are Nova's own in between.
"""

import importlib
import inspect
import json
import logging
import os
import sys
import threading

import nova.conf
import oslo_messaging
from nova import baserpc
from nova import context as nova_context
from nova import objects
from nova import rpc
from nova.compute import manager
from nova.compute import rpcapi
from nova.conductor import rpcapi as conductor_rpcapi
from nova.objects import base as objects_base
from nova.scheduler import rpcapi as scheduler_rpcapi

LOCK = threading.Lock()
SERVERS = {}
ANSWERS = {}
SERIALIZER = objects_base.NovaObjectSerializer()


def say(line):
    text = json.dumps(line, default=repr)
    with LOCK:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def described(error):
    return {
        "type": type(error).__name__,
        "module": type(error).__module__,
        "mro": [c.__name__ for c in type(error).__mro__],
        "text": str(error),
        "args": list(getattr(error, "args", ())),
    }


def admin():
    return nova_context.get_admin_context()


def made(value):
    """Nova's objects out of their wire form: it refuses what does not fit."""
    return SERIALIZER.deserialize_entity(admin(), value)


def told(value):
    return SERIALIZER.serialize_entity(admin(), value)


def read_fields(value):
    """Reads every field of every object, as Nova's code would."""
    if isinstance(value, objects_base.NovaObject):
        for field in value.fields:
            if value.obj_attr_is_set(field):
                read_fields(getattr(value, field))
    elif isinstance(value, dict):
        for member in value.values():
            read_fields(member)
    elif isinstance(value, (list, tuple)):
        for member in value:
            read_fields(member)


class Endpoint:
    """Takes what nova-compute takes: each argument list must fit the method of Nova's ComputeManager."""

    target = oslo_messaging.Target(version=manager.ComputeManager.target.version)

    def __init__(self, server, topic):
        self._where = {"server": server, "topic": topic, "namespace": None}

    def __getattr__(self, method):
        taken = getattr(manager.ComputeManager, method, None)
        if method.startswith("_") or taken is None:
            raise AttributeError(method)

        def run(ctxt, **args):
            inspect.signature(taken).bind(self, ctxt, **args)
            read_fields(args)
            say({"event": "handling", "method": method, "context": ctxt.to_dict(), "args": told(args), **self._where})
            answer = ANSWERS.get(method, {})
            if "raises" in answer:
                module, _, name = answer["raises"].rpartition(".")
                raise getattr(importlib.import_module(module), name)(**answer.get("kwargs", {}))
            return made(answer.get("result"))

        return run


class Peer:
    def __init__(self, settings):
        nova.conf.CONF([], project="nova", default_config_files=[settings["config_file"]])
        rpc.set_defaults(control_exchange="nova")
        rpc.init(nova.conf.CONF)
        objects.register_all()
        self.apis = {
            "compute": rpcapi.ComputeAPI(),
            "conductor": conductor_rpcapi.ConductorAPI(),
            "scheduler": scheduler_rpcapi.SchedulerAPI(),
            "compute_task": conductor_rpcapi.ComputeTaskAPI(),
        }

    def call_api(self, method, args, context=None, service="compute"):
        """A method of one of Nova's own clients (nova.*.rpcapi), with its own names of arguments."""
        ctxt = nova_context.RequestContext.from_dict(context) if context else admin()
        return told(getattr(self.apis[service], method)(ctxt, **{name: made(arg) for name, arg in args.items()}))

    def save(self, instance, **expected):
        """Saves an instance as a compute of Nova does, by its conductor; tells it as it is then."""
        objects_base.NovaObject.indirection_api = self.apis["conductor"]
        try:
            mine = made(instance)
            mine._context = admin()
            mine.save(**expected)
            return told(mine)
        finally:
            objects_base.NovaObject.indirection_api = None

    def call_raw(self, method, server, args=None, version="6.0", timeout=None):
        """A method that the API does not have, or not in that version."""
        client = self.apis["compute"].router.client(admin()).prepare(server=server, version=version, timeout=timeout)
        return told(client.call(admin(), method, **made(args or {})))

    def ping(self, topic, server):
        base = baserpc.BaseAPI(topic=topic)
        return [base.ping(admin(), arg="there?"), base.get_backdoor_port(admin(), server)]

    def start_server(self, topic, server):
        running = oslo_messaging.get_rpc_server(
            rpc.TRANSPORT,
            oslo_messaging.Target(topic=topic, server=server),
            [Endpoint(server, topic)],
            executor="threading",
            serializer=rpc.RequestContextSerializer(SERIALIZER),
            access_policy=oslo_messaging.DefaultRPCAccessPolicy,
        )
        running.start()
        SERVERS["%s.%s" % (topic, server)] = running

    def answer(self, method, **how):
        """From now on the method answers so: `result`, or `raises` with `kwargs`."""
        ANSWERS[method] = how

    def ready(self):
        return [rpcapi.ComputeAPI.__module__, manager.ComputeManager.target.version]


COMMANDS = {"call_api", "save", "call_raw", "ping", "start_server", "answer", "ready"}


def run(peer, line):
    number = line.pop("id")
    try:
        name = line.pop("command")
        if name not in COMMANDS:
            raise KeyError("no command %s" % name)
        say({"id": number, "result": getattr(peer, name)(**line)})
    except BaseException as error:  # whatever it is, the other side is told
        logging.exception("A command failed")
        say({"id": number, "error": described(error)})


def main():
    logging.basicConfig(stream=sys.stderr, level=logging.INFO)
    peer = Peer(json.loads(sys.argv[2]))
    for text in sys.stdin:
        threading.Thread(target=run, args=(peer, json.loads(text)), daemon=True).start()
    os._exit(0)


main()
