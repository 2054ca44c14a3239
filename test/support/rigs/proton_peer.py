"""Qpid Proton as a peer: `broker`, a small one that makes nodes on use, or `client`, which calls a server of ours once.

`broker` prints its port. What waits in a node that begins with `fanout/` goes to each who receives from it.
`client URL HOSTNAME NODE REPLIES METHOD ARGS` prints the reply's inner message.
"""

import collections
import json
import sys
import uuid

from proton import Delivery, Message
from proton.handlers import MessagingHandler
from proton.reactor import Container
from proton.utils import BlockingConnection


class Node:
    def __init__(self, fanout):
        self.fanout = fanout
        self.waiting = collections.deque()
        self.receivers = []

    def publish(self, message):
        if self.fanout:
            for link in self.receivers:
                link.own.append(message)
        else:
            self.waiting.append(message)

    def deliver(self):
        progress = True
        while progress:
            progress = False
            for link in self.receivers:
                queue = link.own or self.waiting
                if queue and link.credit > 0:
                    message = queue.popleft()
                    delivery = link.send(message)
                    delivery.stored = message
                    progress = True


class Broker(MessagingHandler):
    def __init__(self):
        super().__init__(auto_accept=True)
        self.nodes = {}

    def on_start(self, event):
        self.acceptor = event.container.listen('127.0.0.1:0')
        print(self.acceptor._selectable._delegate.getsockname()[1], flush=True)

    def node(self, address):
        return self.nodes.setdefault(address, Node(address.startswith('fanout/')))

    def on_link_opening(self, event):
        link = event.link
        if not link.is_sender:
            link.target.address = link.remote_target.address
            return
        address = str(uuid.uuid4()) if link.remote_source.dynamic else link.remote_source.address
        link.source.address = address
        link.own = collections.deque()
        self.node(address).receivers.append(link)

    def leave(self, link):
        if link.is_sender and link.source.address in self.nodes:
            node = self.nodes[link.source.address]
            node.receivers = [one for one in node.receivers if one != link]

    def on_link_closing(self, event):
        self.leave(event.link)

    def on_disconnected(self, event):
        for node in self.nodes.values():
            node.receivers = [one for one in node.receivers if one.connection != event.connection]

    def on_sendable(self, event):
        self.node(event.link.source.address).deliver()

    def on_message(self, event):
        node = self.node(event.link.target.address)
        node.publish(event.message)
        node.deliver()


def call(url, host_name, node, replies, method, args):
    connection = BlockingConnection(
        url, timeout=10, virtual_host=host_name, allowed_mechs='PLAIN', allow_insecure_mechs=True
    )
    receiver = connection.create_receiver(replies)
    sender = connection.create_sender(node)
    identity = uuid.uuid4().hex
    request = {
        'method': method,
        'args': json.loads(args),
        '_msg_id': identity,
        '_reply_q': replies.rsplit('/', 1)[-1],
        '_timeout': None,
        '_unique_id': uuid.uuid4().hex,
    }
    body = json.dumps({'oslo.version': '2.0', 'oslo.message': json.dumps(request)}).encode()
    delivery = sender.send(Message(body=body, inferred=True, content_type='application/json'))
    assert delivery.remote_state == Delivery.ACCEPTED
    reply = receiver.receive(timeout=10)
    receiver.accept()
    print(json.loads(bytes(reply.body))['oslo.message'], flush=True)
    connection.close()


if sys.argv[1] == 'broker':
    Container(Broker()).run()
else:
    call(*sys.argv[2:])
