import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensurePackages } from './debian.js';

/** Takes datagrams as systemd does, which closes the descriptor of a `BARRIER=1` when it has read all before. */
const RECEIVER = `
import array, json, os, socket, sys
taken = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
taken.bind(sys.argv[1])
print(json.dumps([]), flush=True)
while True:
    text, fds, _, _ = socket.recv_fds(taken, 65536, 8)
    print(json.dumps(text.decode().split("\\n")), flush=True)
    for fd in fds: os.close(fd)
`;

/** What a service tells systemd on the socket that it is given. */
export class NotifySocket {
  /** For the environment of the service. */
  readonly env: Readonly<Record<string, string>>;
  /** `NAME=value`, in order; without those by which systemd-notify waits for its reader. */
  readonly words: string[] = [];
  readonly #dispose: () => Promise<void>;

  private constructor(path: string, dispose: () => Promise<void>) {
    this.env = { NOTIFY_SOCKET: path };
    this.#dispose = dispose;
  }

  /** Opens one in a folder of its own; installs `systemd-notify` where it is missing. */
  static async open(): Promise<NotifySocket> {
    await ensurePackages(['python3', 'systemd']);
    const folder = mkdtempSync(join(tmpdir(), 'ebbgate-notify-'));
    const path = join(folder, 'notify');
    const child = spawn('/usr/bin/python3', ['-c', RECEIVER, path], { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = once(child, 'exit');
    const socket = new NotifySocket(path, async () => {
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true });
    });
    const lines = createInterface({ input: child.stdout });
    await once(lines, 'line'); // it is bound
    lines.on('line', (line) => {
      const told = JSON.parse(line) as string[]; // of the program above
      socket.words.push(...told.filter((word) => word !== '' && !/^(?:BARRIER|MAINPID)=/.test(word)));
    });
    return socket;
  }

  dispose(): Promise<void> {
    return this.#dispose();
  }
}
