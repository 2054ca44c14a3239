import { MessagingTimeoutError } from '@ebbgate/core';

/** The part of a repository whose answers are lost. */
interface Writes<Record, Fields, Expected> {
  update(uuid: string, changes: Partial<Fields>, expected?: Expected): Promise<Record>;
}

/** What is to happen to the writes that are meant. */
export interface Loss<Fields> {
  readonly of: (changes: Partial<Fields>) => boolean;
  /** The first one is made all the same, and only its answer is lost. */
  readonly applied: boolean;
  /** How many do not get their answer. */
  readonly times: number;
}

/** Orders writes that time out; the count of them is what it returns. */
export function loseAnswers<Record, Fields, Expected>(
  repository: Writes<Record, Fields, Expected>,
  loss: Loss<Fields>,
): () => number {
  const update = repository.update.bind(repository);
  let lost = 0;
  repository.update = async (uuid, changes, expected) => {
    if (lost === loss.times || !loss.of(changes)) return update(uuid, changes, expected);
    lost += 1;
    if (loss.applied && lost === 1) await update(uuid, changes, expected);
    throw new MessagingTimeoutError('no answer, as ordered');
  };
  return () => lost;
}
