import type { ServiceSnapshot, TaskSnapshot } from '@ebbgate/service';

/** Something that a draining service still does. */
export type TaskSight = Pick<TaskSnapshot, 'name' | 'kind' | 'subject' | 'ageMs' | 'progress'>;

/** How the drain of a service goes, or what it has left, as its last report told. Plain data; holds names and ids, no content. */
export interface DrainSight {
  /** Why it drains. */
  readonly reason: string | null;
  /** The step that is under way; null at its end. */
  readonly step: string | null;
  /** What is left of the overall limit; null without one. */
  readonly budgetLeftMs: number | null;
  /** How many tasks there are; `tasks` has the oldest of them. */
  readonly taskCount: number;
  /** At most 100. */
  readonly tasks: readonly TaskSight[];
}

const SHOWN_TASKS = 100;

/** What a report tells of the drain; null while there is none, and when it has left nothing. */
export function drainSightOf({
  state,
  reason,
  step,
  budgetLeftMs,
  tasks,
}: ServiceSnapshot): DrainSight | null {
  const hasEnded = state === 'exited';
  if (state !== 'draining' && !(hasEnded && tasks.length > 0)) return null;
  return {
    reason,
    step: hasEnded ? null : step, // the step in which it says so
    budgetLeftMs,
    taskCount: tasks.length,
    tasks: tasks
      .slice(0, SHOWN_TASKS)
      .map(({ name, kind, subject, ageMs, progress }) => ({ name, kind, subject, ageMs, progress })),
  };
}
