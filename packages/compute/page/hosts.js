// All hosts in a table, with buttons for what can be done with each.
import { byId, html, Keyed, set, setText } from './dom.js';
import { cell, head, row, Table } from './table.js';

/** All hosts, and what can be done with them. */
export class Hosts {
  #table;

  /** @param act - is called with the name of an action and its host */
  constructor(act) {
    const columns = ['Host', 'State', 'Instances', 'vCPUs', 'Memory'].map((title) => ({ title }));
    const actions = { title: 'Actions', className: 'actions' };
    this.#table = new Table(byId('hosts'), 'hosts-title', [...columns, actions], () => makeHost(act));
  }

  show(cloud) {
    const counts = new Map();
    for (const { host } of cloud.instances.values()) counts.set(host, (counts.get(host) ?? 0) + 1);
    this.#table.show(cloud.hostList.map((host) => ({ ...host, instances: counts.get(host.host) ?? 0 })));
  }
}

function makeHost(act) {
  const name = html('span', { class: 'name' });
  const zone = html('span', { class: 'quiet zone' });
  const state = html('span');
  const why = html('span', { class: 'quiet why' });
  const [instances, vcpus, memory] = [html('span'), html('span'), html('span')];
  const buttons = html('div', { class: 'buttons' });
  const list = new Keyed(buttons, () => makeButton(act));
  const node = row(
    head(name, zone),
    cell('State', 'state-cell', state, why),
    cell('Instances', 'number', instances),
    cell('vCPUs', 'number', vcpus),
    cell('Memory', 'number', memory),
    cell('Actions', 'actions', buttons),
  );
  return {
    node,
    fill: (host) => {
      setText(name, host.host);
      setText(zone, host.zone ?? '');
      set(state, { class: `badge ${host.state.replaceAll(' ', '-')}` });
      setText(state, host.state);
      setText(why, whyOf(host));
      setText(instances, host.instances);
      setText(
        vcpus,
        share(host, ({ vcpus: number }) => String(number)),
      );
      setText(
        memory,
        share(host, ({ memory_mb: mb }) => String(Math.round(mb / 102.4) / 10), ' GiB'),
      );
      const hadFocus = buttons.contains(document.activeElement);
      list.show(actionsOf(host).map(([id, action]) => ({ id, action, host })));
      if (hadFocus && !buttons.contains(document.activeElement)) buttons.firstElementChild?.focus();
    },
  };
}

function whyOf({
  state,
  disabled,
  disabled_reason: disabledWhy,
  forced_down_reason: downWhy,
  last_report_ms: at,
}) {
  const said = [
    state !== 'disabled' && disabled ? 'disabled' : '',
    downWhy ?? '',
    disabledWhy ?? '',
    at === null ? '' : `last heard ${new Date(at).toLocaleString()}`,
  ];
  return said.filter((text) => text !== '').join(' · ');
}

function share({ used, total }, text, unit = '') {
  return used && total ? `${text(used)} / ${text(total)}${unit}` : '–';
}

const LABELS = new Map([
  ['drain', 'Drain'],
  ['disable', 'Disable'],
  ['enable', 'Enable'],
  ['force-down', 'Force down'],
  ['clear', 'Clear'],
]);

/** The place of each button, and what it does now. */
function actionsOf({ state, disabled, forced_down: forcedDown }) {
  if (state === 'unreachable') return [];
  const canDrain = state === 'up' || state === 'disabled';
  return [
    ...(canDrain ? [['drain', 'drain']] : []),
    ['status', disabled ? 'enable' : 'disable'],
    ['down', forcedDown ? 'clear' : 'force-down'],
  ];
}

/** Its name tells the host too. */
function makeButton(act) {
  const label = html('span');
  const of = html('span', { class: 'unseen' });
  const node = html('button', { type: 'button' }, label, of);
  let does;
  node.addEventListener('click', () => act(does.action, does.host));
  return {
    node,
    fill: (item) => {
      does = item;
      set(node, { class: item.action });
      setText(label, LABELS.get(item.action));
      setText(of, ` ${item.host.host}`);
    },
  };
}
