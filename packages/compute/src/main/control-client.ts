import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { OPERATOR_EXIT } from '../operator/perform-work.js';
import type { Terminal } from '../operator/terminal.js';
import { OperatorError } from '../operator/work.js';
import { answerSchema, controlLine } from './control-line.js';

/**
 * Has an all-in-one do a command; resolves with its exit code.
 * @throws OperatorError when none is there, or it ends meanwhile
 */
export async function overControl(
  path: string,
  argv: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
  } catch (error) {
    throw new OperatorError(
      `No cloud is there: nobody listens at ${path}. Start ebbgate-compute all-in-one --hosts a,b,c, or give the broker of a cloud by --transport or EBBGATE_URL`,
      { cause: error },
    );
  }
  const interrupt = (): void => void socket.destroy();
  terminal.signal.addEventListener('abort', interrupt);
  socket.on('error', () => undefined); // the end without an exit code says as much
  const { screen } = terminal;
  const size = screen ? { columns: screen.columns, rows: screen.rows } : null;
  socket.write(controlLine({ argv, screen: size }));
  const lines = createInterface({ input: socket });
  socket.on('close', () => {
    lines.close(); // it hears of an end that the other side announces, and of no other
  });
  try {
    for await (const line of lines) {
      const answer = answerSchema.parse(JSON.parse(line));
      if ('exit' in answer) {
        socket.destroy();
        return answer.exit;
      }
      if ('out' in answer) terminal.out(answer.out);
      else terminal.err(answer.err);
    }
  } catch (error) {
    if (!socket.errored) throw error; // readline passes on how its input has ended; without an exit code that says nothing more
  }
  if (terminal.signal.aborted) return OPERATOR_EXIT.interrupted;
  throw new OperatorError('The all-in-one has ended meanwhile');
}
