import { addAbortSignal, type Readable } from 'node:stream';
import { text } from 'node:stream/consumers';

/** All of a stream as text. @throws the signal's reason when it aborts */
export async function readText(stream: Readable, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  try {
    return await text(addAbortSignal(signal, stream));
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}
