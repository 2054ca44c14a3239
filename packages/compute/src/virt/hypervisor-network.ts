import type { Guest } from './driver.js';

/** What one fake hypervisor does for another. */
export interface HypervisorPeer {
  readonly host: string;
  /** Takes a guest over; false when nothing was prepared for it. */
  receive(guest: Guest): boolean;
  has(uuid: string): boolean;
}

/** What joins fake hypervisors, so that a guest that migrates really leaves one and comes to the other. */
export class HypervisorNetwork {
  readonly #peers = new Map<string, HypervisorPeer>();

  join(peer: HypervisorPeer): void {
    this.#peers.set(peer.host, peer);
  }

  peer(host: string): HypervisorPeer | undefined {
    return this.#peers.get(host);
  }

  /** The hosts on which a guest is: one, if all is well. */
  locate(uuid: string): readonly string[] {
    return [...this.#peers.values()].filter((peer) => peer.has(uuid)).map((peer) => peer.host);
  }
}
