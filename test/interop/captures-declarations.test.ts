import { expect } from 'chai';
import { describe, it } from 'mocha';
import { readCapture } from './replay/capture.js';
import { type CaseCover, CASES, isReplayed } from './replay/cases.js';
import {
  type Declared,
  once,
  ourClientDeclares,
  ourHandshakes,
  ourServerDeclares,
  recordedClient,
  recordedHandshakes,
  recordedServers,
} from './replay/declarations.js';
import { OurSide } from './replay/our-side.js';

const replayed = Object.entries(CASES).filter(([, cover]) => isReplayed(cover, 'declarations'));

function isPrivate({ method, args }: Declared): boolean {
  return method === 'queue.declare' && /^reply_|_fanout_/.test(String(args['queue']));
}

/** W3: private queues are durable, but for those whose names a restarted Python service would find again. */
function asWeWant(methods: readonly Declared[], { options }: CaseCover): Declared[] {
  const durable = options?.['use_queue_manager'] !== true;
  return methods.map((one) =>
    isPrivate(one) && durable ? { ...one, args: { ...one.args, durable: true } } : one,
  );
}

const isQos = ({ method }: Declared): boolean => method === 'basic.qos';

/** W12: exchanges are declared on a channel without confirms, as it may be closed over a conflict. */
const isConfirm = ({ method }: Declared): boolean => method === 'confirm.select';

describe('what is declared, against the recordings (W2, W3, W12, W21, W29)', () => {
  for (const [name, cover] of replayed) {
    const capture = readCapture(name);
    const servers = recordedServers(capture);
    const client = recordedClient(capture);

    for (const recorded of servers) {
      it(`${name}: server ${recorded.server} declares, binds and consumes the same, in order (AMQP-24, AMQP-26)`, async () => {
        const side = await OurSide.start(cover.options);
        try {
          const declared = await ourServerDeclares(side, recorded);
          const theirs = asWeWant(recorded.declared, cover).filter((one) => !isQos(one));
          expect(declared.filter((one) => !isQos(one))).to.deep.equal(theirs);
          for (const { args } of side.peer.received('basic.consume'))
            expect(args['consumerTag']).to.equal(''); // W21
          const [qos, ...others] = declared.filter(isQos).map(({ args }) => args);
          const [asked] = recorded.declared.filter(isQos);
          expect(qos).to.deep.equal(asked?.args ?? { prefetch_size: 0, prefetch_count: 16, global: false });
          expect(others).to.deep.equal([]);
        } finally {
          await side.close();
        }
      });
    }

    it(`${name}: a client declares the same, and both sides log in the same way (AMQP-24, AMQP-26)`, async () => {
      const side = await OurSide.start(cover.options);
      try {
        const declared = await ourClientDeclares(side, capture);
        const theirs = asWeWant(client.replies, cover).filter((one) => !isQos(one));
        expect(declared.filter(({ args }) => 'queue' in args)).to.deep.equal(theirs);
        expect(once(declared.filter(({ args }) => 'type' in args))).to.have.deep.members(
          once([...client.sends, ...implied(client)]),
        );
        expect(once(declared.filter(isConfirm))).to.deep.equal(
          client.sends.length + client.replies.length > 0
            ? [{ method: 'confirm.select', args: { nowait: false } }]
            : [],
        );
        await side.transport.connect();
        expect(declared.filter(isQos)).to.deep.equal([]); // W2: none for replies
        expect(side.peer.connections).to.have.lengthOf(2); // W12
        for (const { args } of side.peer.received('connection.start-ok'))
          expect(args['clientProperties']).to.include({ product: 'ebbgate' }); // W29
        const handshakes = recordedHandshakes(capture);
        if (handshakes.length > 0) expect(ourHandshakes(side)).to.deep.equal(handshakes);
      } finally {
        await side.close();
      }
    });
  }
});

/** Our call goes to `openstack`, which a case that ends before its first send has not declared. */
function implied({ replies, sends }: ReturnType<typeof recordedClient>): Declared[] {
  if (replies.length === 0 || sends.some(({ args }) => args['exchange'] === 'openstack')) return [];
  return [
    {
      method: 'exchange.declare',
      args: {
        exchange: 'openstack',
        type: 'topic',
        passive: false,
        durable: false,
        auto_delete: false,
        internal: false,
        nowait: false,
        arguments: {},
      },
    },
  ];
}
