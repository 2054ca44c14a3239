// Loaded into the service by start.mjs. start.mjs gives it a process group of its own, so a signal that ends the
// starter alone (SIGKILL of the group, say) would leave it behind; the pipe closes then, and the service drains.
import { Socket } from 'node:net';

const fd = process.env.EBBGATE_STARTER_FD;
if (fd !== undefined) {
  // Workers inherit the environment and this file, but not the pipe.
  delete process.env.EBBGATE_STARTER_FD;
  const pipe = new Socket({ fd: Number(fd) });
  pipe.once('close', () => process.kill(process.pid, 'SIGTERM'));
  pipe.on('error', () => {});
  pipe.resume();
  pipe.unref();
}
