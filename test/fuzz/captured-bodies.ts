import { captureNames, readCapture, wireEvents } from '../interop/replay/capture.js';
import { LONGEST } from '../support/fuzz/mutation.js';

/** The bodies of all recorded messages of oslo.messaging, each once, without those that are long. */
export function capturedBodies(): readonly Buffer[] {
  const bodies = captureNames().flatMap((name) => wireEvents(readCapture(name)).map(({ body }) => body));
  const texts = new Set(bodies.map((body) => body.toString('latin1')));
  return [...texts]
    .filter((text) => text !== '' && text.length <= LONGEST)
    .map((text) => Buffer.from(text, 'latin1'));
}
