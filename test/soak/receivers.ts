import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setTimeout as pause } from 'node:timers/promises';
import { diagnostics, type ServerDiagnostic, type Transport } from '@ebbgate/core';
import { NotificationListener } from '@ebbgate/notify';
import { RpcServer } from '@ebbgate/rpc';
import { NOTIFICATIONS, type Role, type StartRole, TOPIC } from './role.js';

/** Handlers take up to so long, by the number in the id. */
const WORK_MS = 10;
/** Before it is tried again to listen, which has failed as the broker is away. */
const AGAIN_MS = 100;
/** A drain takes so long at most, with whatever broker. */
const DRAIN_MS = 20_000;

/** What both kinds have. */
type Receiver = Pick<RpcServer, 'start' | 'stop' | 'wait'>;

/** Answers calls and does what is cast. */
export const startServer: StartRole = (settings, transport, notes) => {
  const work = async (_context: unknown, { id }: { id: string }): Promise<string> => {
    notes.note({ is: 'begun', id });
    await pause(workMs(id));
    return id;
  };
  const server = new RpcServer(transport, { topic: TOPIC, server: settings.name }, [{ work }], {
    beforeAccept: ({ args }) => {
      notes.note({ is: 'taken', id: String(args['id']) });
    },
  });
  const onHandled = (message: unknown): void => {
    const { topic, server: name, as } = message as ServerDiagnostic; // as the channel documents
    if (as === 'gone' && topic === TOPIC && name === settings.name) notes.note({ is: 'gone' });
  };
  subscribe(diagnostics.handled.name, onHandled); // and not its counts at the end: it may be killed
  return receive(server, transport, () => unsubscribe(diagnostics.handled.name, onHandled));
};

/** Handles what is told. */
export const startListener: StartRole = (_settings, transport, notes) => {
  const info = async (_context: unknown, { payload }: { payload: unknown }): Promise<void> => {
    const { id } = payload as { id: string }; // what the notifier sends
    notes.note({ is: 'begun', id });
    await pause(workMs(id));
    notes.note({ is: 'handled', id });
  };
  const listener = new NotificationListener(transport, [{ topic: NOTIFICATIONS }], [{ info }]);
  return receive(listener, transport);
};

function workMs(id: string): number {
  return Number(/\d+$/.exec(id)) % WORK_MS;
}

/** Starts it, as often as it takes, until it is to end. */
function receive(receiver: Receiver, transport: Transport, onClosed: () => void = () => undefined): Role {
  const over = new AbortController();
  const started = startAgain(receiver, over.signal);
  const drain = async (): Promise<void> => {
    over.abort();
    await receiver.stop().catch(() => undefined); // not confirmed in time: `wait()` works all the same
    await receiver.wait({ timeoutMs: DRAIN_MS }).catch(() => undefined); // what is left is seen in what nobody has run
  };
  const close = async (): Promise<void> => {
    over.abort();
    await transport.close();
    await started;
    onClosed();
  };
  const end = async (): Promise<void> => {
    await drain();
    await close();
  };
  return { ready: started, quiesce: () => Promise.resolve(), end, close };
}

async function startAgain(receiver: Pick<Receiver, 'start'>, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    try {
      await receiver.start();
      return;
    } catch {
      await pause(AGAIN_MS, undefined, { signal: over }).catch(() => undefined); // the broker is away
    }
  }
}
