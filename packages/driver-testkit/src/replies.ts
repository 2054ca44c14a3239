import type { ReplyQueue, Transport, WireMessage } from '@ebbgate/core';
import type { Lab } from './lab.js';
import { textOf } from './test-message.js';

/** A reply queue and what has arrived at it. */
export interface Replies {
  readonly queue: ReplyQueue;
  /** Once each; more often where the driver has brought one again without a loss, or a doubtful send, that explains it. */
  readonly texts: string[];
  readonly arrived: (count: number) => Promise<void>;
}

export async function openReplies(lab: Lab, transport: Transport): Promise<Replies> {
  const texts: string[] = [];
  const waiting: (() => void)[] = [];
  const onReply = (message: WireMessage): void => {
    const text = textOf(message);
    if ((lab.mayComeAgain || lab.mayBeTwice(text)) && texts.includes(text)) return;
    texts.push(text);
    for (const tell of waiting.splice(0)) tell();
  };
  const queue = await lab.until(transport.openReplyQueue(onReply), 'openReplyQueue()');
  const arrived = async (count: number): Promise<void> => {
    while (texts.length < count) {
      await lab.until(
        new Promise<void>((resolve) => waiting.push(resolve)),
        `reply ${String(count)} (${String(texts.length)} have arrived)`,
      );
    }
  };
  return { queue, texts, arrived };
}
