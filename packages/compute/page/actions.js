// What an operator does with a host: asked for in a dialog, done by the API.
import { byId, set, setText } from './dom.js';

const HEADERS = { 'OpenStack-API-Version': 'compute 2.53, ebbgate 1.2', 'X-Ebbgate-Page': '1' };

/** By the name of the action. `body` is what is sent; `reason` is undefined when none is given. */
const ACTIONS = new Map([
  [
    'drain',
    {
      title: (host) => `Drain ${host}?`,
      text: 'It takes nothing new, finishes what it has begun, and its process ends.',
      label: 'Drain',
      hasReason: true,
      path: '/drain',
      method: 'POST',
      body: (reason) => ({ reason }),
    },
  ],
  [
    'disable',
    {
      title: (host) => `Disable ${host}?`,
      text: 'It gets no new instances. What runs there goes on.',
      label: 'Disable',
      hasReason: true,
      body: (reason) => ({ status: 'disabled', disabled_reason: reason }),
    },
  ],
  [
    'enable',
    {
      title: (host) => `Enable ${host}?`,
      text: 'It gets new instances again.',
      label: 'Enable',
      body: () => ({ status: 'enabled' }),
    },
  ],
  [
    'force-down',
    {
      title: (host) => `Force ${host} down?`,
      text: 'Everybody takes it for dead, whatever it reports, and its instances may be made anew elsewhere.',
      label: 'Force down',
      check: 'The machine is fenced: it is off, or cut off.',
      isGrave: true,
      hasReason: true,
      body: (reason) => ({ forced_down: true, forced_down_reason: reason }),
    },
  ],
  [
    'clear',
    {
      title: (host) => `Clear ${host}?`,
      text: 'It is no longer forced down, and counts as it reports.',
      label: 'Clear',
      body: () => ({ forced_down: false }),
    },
  ],
]);

/** Asks for one thing at a time. */
export class Actions {
  #dialog = byId('dialog');
  #confirm = byId('dialog-confirm');
  #check = byId('dialog-check').querySelector('input');
  #reason = byId('dialog-reason');
  #asked;
  #onRefused;

  /** @param onRefused - is called when nobody is signed in any more */
  constructor(onRefused) {
    this.#onRefused = onRefused;
    byId('dialog-cancel').addEventListener('click', () => this.#dialog.close());
    byId('dialog-form').addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#act();
    });
  }

  /** Asks whether this is to be done with the host. */
  ask(name, host) {
    const action = ACTIONS.get(name);
    this.#asked = { action, host };
    setText(byId('dialog-title'), action.title(host.host));
    setText(byId('dialog-text'), action.text);
    set(byId('dialog-check'), { hidden: !action.check });
    setText(byId('dialog-check').querySelector('span'), action.check ?? '');
    this.#check.checked = false;
    this.#check.required = Boolean(action.check);
    set(byId('dialog-field'), { hidden: !action.hasReason });
    this.#reason.value = '';
    setText(byId('dialog-problem'), '');
    setText(this.#confirm, action.label);
    set(this.#confirm, { class: action.isGrave ? 'grave' : 'primary', disabled: false });
    this.#dialog.showModal();
    byId('dialog-cancel').focus();
  }

  async #act() {
    const { action, host } = this.#asked;
    const reason = this.#reason.value.trim() || undefined;
    setText(byId('dialog-problem'), '');
    set(this.#confirm, { disabled: true });
    const problem = await sent(action, host, action.body(reason));
    set(this.#confirm, { disabled: false });
    if (problem === undefined) this.#dialog.close();
    else if (problem.status === 401) {
      this.#dialog.close();
      this.#onRefused();
    } else {
      setText(byId('dialog-problem'), problem.text);
      this.#confirm.focus();
    }
  }
}

/** Undefined when it is done. */
async function sent({ path = '', method = 'PUT' }, { id }, body) {
  try {
    const answer = await fetch(`v2.1/os-services/${encodeURIComponent(id)}${path}`, {
      method,
      headers: { ...HEADERS, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    return answer.ok ? undefined : { status: answer.status, text: await problemIn(answer) };
  } catch {
    return { status: 0, text: 'The API does not answer.' };
  }
}

/** What the API says of an error. */
export async function problemIn(answer) {
  const [fault] = Object.values(await answer.json().catch(() => ({})));
  return fault?.message ?? `The API answers with ${answer.status}.`;
}

/** Asks for `path` under the page, with the header that forms cannot send. */
export function asked(path, options = {}) {
  const type = options.body === undefined ? {} : { 'Content-Type': 'application/json' };
  return fetch(`page/${path}`, { ...options, headers: { ...HEADERS, ...type } });
}
