import type { TaskSnapshot } from '@ebbgate/service';
import type { Check, HostView } from './job-events.js';

/** `[########------------]  40 %` */
export function bar(part: number, width: number): string {
  const filled = Math.round(part * width);
  return `[${'#'.repeat(filled)}${'-'.repeat(width - filled)}] ${percent(part)}`;
}

export function percent(part: number): string {
  return `${String(Math.round(part * 100)).padStart(3)} %`;
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

/** Without requests that are served in passing, and what the host itself looks up: they are over in a moment. */
export function lasting(tasks: readonly TaskSnapshot[]): readonly TaskSnapshot[] {
  return tasks.filter(({ kind }) => kind !== 'handler');
}

/** One task as text; `nameOf` gives the name of an instance. */
export function taskText(task: TaskSnapshot, nameOf: (uuid: string) => string): string {
  const about = task.subject === null ? '' : ` ${nameOf(task.subject)}`;
  const progress = task.progress === null ? '' : `, ${percent(task.progress).trim()}`;
  return `${task.name}${about} (${seconds(task.ageMs)}${progress})`;
}

/** What the two servers of a host do. */
export function serversText({ host, newRequest, ops }: HostView, opsTopic: string): string {
  const first = `new-request compute.${host} ${newRequest === 'up' ? 'serves' : 'STOPPED'}`;
  if (ops === 'none') return `${first}, no ops server`;
  return `${first}, ops ${opsTopic}.${host} ${ops === 'up' ? 'serves' : 'STOPPED'}`;
}

export function checkText({ what, holds, detail }: Check): string {
  return holds ? `  ✓ ${what}` : `  ✗ ${what}: ${detail}`;
}

export function verdictText({ holds, remark }: { readonly holds: boolean; readonly remark: string }): string {
  if (holds) return 'All invariants hold: every operation that had begun is complete, nothing was lost.';
  return remark === '' ? 'The invariants do NOT hold.' : `The invariants do NOT hold. ${remark}`;
}

/** Breaks a text at blanks into lines of fewer than `columns`; all but the first begin with `indent` blanks. */
export function wrap(text: string, columns: number, indent: number): readonly string[] {
  const [first = '', ...words] = text.split(/(?<=\S) /);
  return flow([first, ...words], ' ', columns, indent);
}

/** Joins pieces into lines of fewer than `columns`, none of them broken. */
export function flow(
  pieces: readonly string[],
  separator: string,
  columns: number,
  indent: number,
): readonly string[] {
  const lines: string[] = [];
  let line: string | undefined;
  for (const piece of pieces) {
    const longer: string = line === undefined ? piece : `${line}${separator}${piece}`;
    if (line !== undefined && longer.length >= columns) {
      lines.push(line);
      line = `${' '.repeat(indent)}${piece}`;
    } else line = longer;
  }
  return line === undefined ? lines : [...lines, line];
}
