import { readFile } from 'node:fs/promises';

/** Which run of a program this process belongs to: a service that was restarted has another. */
export interface ProcessGroup {
  /** The number of the group. 0 in some containers. */
  readonly id: number;
  /** When its leader was started, in jiffies since the boot. */
  readonly startTime: number;
}

/** Positions in `/proc/<pid>/stat` (proc(5)), counted from the field after the command. */
const GROUP = 2;
const START_TIME = 19;

/** The group of this process. */
export async function ownProcessGroup(): Promise<ProcessGroup> {
  const self = await statFields('self');
  const id = Number(self?.[GROUP] ?? 0);
  // A leader that has ended, or is not to be seen from a container, has no entry: then this process counts.
  const leader = id > 0 ? await statFields(String(id)) : undefined;
  return { id, startTime: Number((leader ?? self)?.[START_TIME] ?? 0) };
}

/** Is the leader of that group still the process that it was? */
export async function isRunning(group: ProcessGroup): Promise<boolean> {
  if (group.id <= 0) return false;
  const leader = await statFields(String(group.id));
  return leader !== undefined && Number(leader[START_TIME]) === group.startTime;
}

/** What follows the command, which may hold blanks and brackets itself. Undefined: no such process. */
async function statFields(pid: string): Promise<readonly string[] | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}
