import type { Source } from './driver.js';

/** What a source is called in logs, diagnostics and errors. */
export interface SourceNames {
  readonly topic: string;
  /** Of notifications the pool; empty when there is none. */
  readonly server: string;
  /** In a sentence, like `topic "t", server "s"`. */
  readonly text: string;
}

/** The names of a source. */
export function sourceNames(source: Source): SourceNames {
  if (!('topics' in source)) {
    const { topic, server } = source;
    return { topic, server, text: `topic "${topic}", server "${server}"` };
  }
  const topic = source.topics.map((each) => each.topic).join(',');
  const server = source.pool ?? '';
  const pool = server === '' ? '' : ` in pool "${server}"`;
  return { topic, server, text: `notifications of "${topic}"${pool}` };
}
