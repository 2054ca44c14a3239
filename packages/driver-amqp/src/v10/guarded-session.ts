import type { Session } from 'rhea';

/** Parts of a session of rhea 3 that its types leave out. */
interface RawSession {
  readonly incoming: {
    /** Settled by us, and not written. */
    readonly updated: readonly { readonly state: State }[];
    update(delivery: object, settled: boolean, state: State): void;
    /** Writes it. */
    process(session: RawSession): void;
    on_transfer(frame: TransferFrame, receiver: RawReceiver): void;
    on_disposition(fields: Disposition): void;
  };
  readonly outgoing: {
    readonly deliveries: { get_head(): { readonly id: number } | undefined };
    readonly next_delivery_id: number;
    on_disposition(fields: Disposition): void;
  };
  readonly remote: { readonly handles: Readonly<Record<number, RawReceiver>> };
  on_flow(frame: FlowFrame): void;
}

interface RawReceiver {
  credit: number;
  is_receiver(): boolean;
}

interface TransferFrame {
  readonly performative: { message_format: number; readonly more?: unknown };
  payload: Buffer | undefined;
}

interface FlowFrame {
  readonly performative: { readonly handle: number; readonly link_credit?: number; drain: boolean };
}

interface Disposition {
  readonly first: number;
  readonly last: number | undefined;
  readonly settled: boolean;
  readonly state: State;
}

/** By its descriptor: what became of a delivery. */
type State = { readonly descriptor?: { readonly value: unknown } } | undefined;

/** rhea decodes messages of format 0 only, and gives others as bytes. */
const AS_BYTES = 1;
const ACCEPTED = 0x24;
/** The states of a delivery, by code or by name. */
const STATE = /^(?:3[5-9]|amqp:(?:received|accepted|rejected|released|modified):list)$/;

/**
 * Stands between the peer and a session of rhea, which would end the connection over a message that it cannot decode, look at
 * four thousand million deliveries because of one frame, give one delivery the outcome of another, and write to the console of
 * whoever uses us.
 */
export function guard(guarded: Session): void {
  const session = guarded as unknown as RawSession; // as above
  const { incoming, outgoing } = session;

  const onTransfer = incoming.on_transfer.bind(incoming);
  incoming.on_transfer = (frame, receiver) => {
    frame.performative.message_format = AS_BYTES;
    frame.payload ??= Buffer.alloc(0);
    if (!frame.performative.more && receiver.credit <= 0) receiver.credit = 1; // more than we have asked for
    onTransfer(frame, receiver);
  };

  const onUpdate = incoming.update.bind(incoming);
  incoming.update = (delivery, settled, state) => {
    // rhea puts the first two of a turn into one frame, with the outcome of the first.
    const last = incoming.updated.at(-1);
    if (last && !(isAccepted(last.state) && isAccepted(state))) incoming.process(session);
    onUpdate(delivery, settled, state);
  };

  incoming.on_disposition = () => undefined; // what the peer says of deliveries to us changes nothing

  const onDisposition = outgoing.on_disposition.bind(outgoing);
  outgoing.on_disposition = (fields) => {
    const { settled, state } = fields;
    const first = Math.max(fields.first, outgoing.deliveries.get_head()?.id ?? Infinity);
    const last = Math.min(fields.last ?? fields.first, outgoing.next_delivery_id - 1);
    const isState = STATE.test(String(state?.descriptor?.value));
    if (first <= last) onDisposition({ first, last, settled, state: isState ? state : undefined });
  };

  const onFlow = session.on_flow.bind(session);
  session.on_flow = (frame) => {
    const { performative } = frame;
    const isUnfinished =
      (performative.link_credit ?? 0) > 0 && session.remote.handles[performative.handle]?.is_receiver();
    if (isUnfinished) performative.drain = false; // it says that it drains, and has not
    onFlow(frame);
  };
}

function isAccepted(state: State): boolean {
  return state?.descriptor?.value === ACCEPTED;
}
