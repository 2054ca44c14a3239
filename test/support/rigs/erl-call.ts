import { spawn } from 'node:child_process';
import type { UserIds } from './erlang-vm.js';

/** Comes with Erlang. */
const ERL_CALL = '/usr/bin/erl_call';
const LIMIT_MS = 20_000;

export interface ErlCall {
  /** The Erlang node, `name@host`. */
  readonly node: string;
  readonly cookie: string;
  readonly ids: UserIds | undefined;
  readonly env: Readonly<Record<string, string>>;
}

/** Comes back on a line of its own, so that what the expression prints does no harm. */
const MARK = 'ebbgate-result:';

/** Erlang terms as JSON would have them: resource names as text, property lists as objects, pids as text. */
const TO_JSON = `
  ToJson = fun
    F({resource, _, _, Name}) -> Name;
    F(Pid) when is_pid(Pid) -> list_to_binary(rabbit_misc:pid_to_string(Pid));
    F(Atom) when is_atom(Atom); is_number(Atom) -> Atom;
    F(Text) when is_binary(Text) -> case unicode:characters_to_binary(Text) of Text -> Text; _ -> base64:encode(Text) end;
    F([]) -> [];
    F([{Key, _} | _] = Pairs) when is_atom(Key); is_binary(Key) -> maps:from_list([{K, F(V)} || {K, V} <- Pairs]);
    F([{Key, _, _} | _] = Table) when is_binary(Key) -> maps:from_list([{K, F(V)} || {K, _, V} <- Table]);
    F(List) when is_list(List) -> [F(One) || One <- List];
    F(Tuple) when is_tuple(Tuple) -> [F(One) || One <- tuple_to_list(Tuple)];
    F(Other) -> list_to_binary(io_lib:format("~p", [Other]))
  end`;

function program(expression: string): string {
  return `${TO_JSON},
  Result = try [ok, ToJson(begin ${expression} end)]
    catch Class:Reason:Stack -> [error, list_to_binary(io_lib:format("~p: ~p~n~p", [Class, Reason, Stack]))] end,
  io:put_chars(["\\n${MARK}", base64:encode(rabbit_json:encode(Result)), "\\n"]), ok.`;
}

function run(call: ErlCall, text: string): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const args = ['-R', '-c', call.cookie, '-sname', call.node, '-fetch_stdout', '-no_result_term', '-e'];
  return new Promise((resolve, reject) => {
    const child = spawn(ERL_CALL, args, {
      ...call.ids,
      env: call.env,
      stdio: 'pipe',
      timeout: LIMIT_MS,
      killSignal: 'SIGKILL',
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
    child.stdin.on('error', () => {}); // it has failed, and says so below
    child.on('error', reject);
    child.on('close', () => resolve({ stdout, stderr }));
    child.stdin.end(`${text}\n`);
  });
}

/**
 * Evaluates Erlang in the node and gives the value as JSON would have it. A few milliseconds, where the node's own
 * command takes half a second.
 *
 * @throws Error - with the Erlang class, reason and stack when it failed, or when the node does not answer
 */
export async function erlCall(call: ErlCall, expression: string): Promise<unknown> {
  const { stdout, stderr } = await run(call, program(expression));
  const line = stdout.split('\n').find((one) => one.startsWith(MARK));
  if (line === undefined) throw new Error(`No answer from ${call.node} to ${expression}: ${stdout}${stderr}`);
  const result: unknown = JSON.parse(Buffer.from(line.slice(MARK.length), 'base64').toString());
  const [outcome, value] = Array.isArray(result) ? result : [];
  if (outcome === 'ok') return value;
  throw new Error(`${expression} failed in ${call.node}: ${String(value)}`);
}

/** A binary of Erlang that is this text. */
export function erlangText(text: string): string {
  return `<<${[...Buffer.from(text)].join(',')}>>`;
}
