import type { Service } from './service.js';

const ends = new WeakMap<Service, Promise<unknown>>();

/** The service is run as a program, which has ended when `end` resolves. */
export function isProgram(service: Service, end: Promise<unknown>): void {
  ends.set(service, end);
}

/** Resolves when the program has ended that runs the service; at once when none does. */
export async function programEnd(service: Service): Promise<void> {
  await ends.get(service);
}
