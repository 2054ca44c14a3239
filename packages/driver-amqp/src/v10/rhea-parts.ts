import type { Connection, Delivery, Receiver, Sender, Session } from 'rhea';
import { guard } from './guarded-session.js';

/** Parts of rhea 3 that its types leave out, each used in one place. */
interface RawReceiver {
  /** Granted, and not used up. */
  credit: number;
}

interface RawSender {
  readonly credit: number;
}

interface RawOutgoing {
  readonly next_delivery_id: number;
  /** All before it have been transferred. */
  readonly next_pending_delivery: number;
  /** Room in the ring of what is not settled. */
  available(): number;
}

/** What a receiver has been granted and has not used. */
export function creditOf(receiver: Receiver): number {
  return (receiver as unknown as RawReceiver).credit; // rhea keeps it there
}

/** Nothing is granted any more, by our own reckoning. */
export function forgetCredit(receiver: Receiver): void {
  (receiver as unknown as RawReceiver).credit = 0; // as above
}

/** Grants more, by one flow that is written at once. */
export function writeCredit(receiver: Receiver, more: number): void {
  (receiver as unknown as RawReceiver).credit += more; // as above
  writeFlow(receiver);
}

/**
 * Writes a flow that grants nothing. What is under way is still counted against the credit of before: rhea complains on
 * the console of a transfer without credit.
 */
export function writeNoCredit(receiver: Receiver): void {
  const raw = receiver as unknown as RawReceiver; // as above
  const before = raw.credit;
  raw.credit = 0;
  writeFlow(receiver);
  raw.credit = before;
}

function writeFlow(receiver: Receiver): void {
  (receiver.session as unknown as { _write_flow(link: Receiver): void })._write_flow(receiver); // what rhea itself calls
}

/** How many messages may be sent on the only link of a session: by its credit, and by the room of rhea's ring. */
export function roomOf(sender: Sender): number {
  const { outgoing } = sender.session as unknown as { readonly outgoing: RawOutgoing }; // rhea keeps it there
  const { credit } = sender as unknown as RawSender; // likewise
  const queued = outgoing.next_delivery_id - outgoing.next_pending_delivery;
  return Math.min(credit - queued, outgoing.available());
}

/** A session whose rings have room for so many unsettled deliveries. */
export function newSession(connection: Connection, ring: number): Session {
  const session = connection.create_session(ring);
  guard(session);
  return session;
}

/** A message as a guarded session gives it. */
export function bytesOf(message: unknown): Buffer {
  return Buffer.isBuffer(message) ? message : Buffer.alloc(0);
}

/**
 * A delivery that has come is ours to keep: in the ring of rhea one that is held for long would keep its place, and those
 * of all after it.
 */
export function leaveRing(delivery: Delivery): void {
  (delivery as unknown as { settled: boolean }).settled = true; // rhea looks there; what is written is what `update` says
}

/** Nobody waits for its outcome any more: it leaves the ring. False while it is not written, as it cannot be taken back. */
export function forget(delivery: Delivery): boolean {
  const raw = delivery as unknown as {
    readonly id: number;
    readonly link: Sender;
    remote_settled: boolean;
  }; // rhea keeps it there
  const { outgoing } = raw.link.session as unknown as { readonly outgoing: RawOutgoing }; // likewise
  if (raw.id >= outgoing.next_pending_delivery) return false;
  raw.remote_settled = true;
  delivery.update(true);
  return true;
}

/** The peer has the other end of the link, and not the same one. */
export function isAnswered(link: Receiver | Sender): boolean {
  const { local, remote } = link as unknown as Record<
    'local' | 'remote',
    { readonly attach: { readonly role: boolean } }
  >; // rhea keeps it there
  return local.attach.role !== remote.attach.role;
}

/** We have said who we are, and the peer has not said what it thinks of it. */
export function isLoginUnanswered(connection: Connection): boolean {
  const { sasl_transport: login } = connection as unknown as {
    readonly sasl_transport?: {
      readonly mechanism?: unknown;
      readonly transport: { readonly read_complete: boolean };
    };
  }; // rhea keeps it there
  return login?.mechanism !== undefined && !login.transport.read_complete;
}
