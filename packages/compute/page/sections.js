// The parts of the page beside the picture and the list of hosts.
import { byId, html, Keyed, set, setText } from './dom.js';
import { makeBar } from './picture.js';
import { cell, head, row, Table } from './table.js';
import { count, duration, kindOf } from './words.js';

const MOST_INSTANCES = 200;
const STATES = ['up', 'draining', 'disabled', 'down', 'forced down', 'unreachable'];

/** How many there are of what. */
export class Counts {
  #list = new Keyed(byId('counts'), () => {
    const number = html('strong');
    const what = html('span');
    const node = html('li', {}, number, ' ', what);
    return {
      node,
      fill: ({ id, value, word }) => {
        set(node, { class: id.replaceAll(' ', '-') });
        setText(number, value);
        setText(what, word);
      },
    };
  });

  show({ hostList, instances, migrations }) {
    const states = STATES.map((state) => ({
      id: state,
      value: hostList.filter((host) => host.state === state).length,
      word: state,
    }));
    this.#list.show([
      { id: 'hosts', value: hostList.length, word: hostList.length === 1 ? 'host' : 'hosts' },
      ...states.filter(({ value }) => value > 0),
      { id: 'instances', value: instances.size, word: instances.size === 1 ? 'instance' : 'instances' },
      { id: 'moving', value: migrations.size, word: migrations.size === 1 ? 'move' : 'moves' },
    ]);
  }
}

/** Hosts that drain, and what each still does. */
export class Drains {
  #list = new Keyed(byId('drain-list'), makeDrain);

  show(cloud) {
    const draining = cloud.hostList.filter(({ state }) => state === 'draining');
    set(byId('drains'), { hidden: draining.length === 0 });
    this.#list.show(draining.map((host) => ({ ...host, cloud })));
  }
}

function makeDrain({ id }) {
  const name = html('h3', { id: `drain-${id}` });
  const words = html('p', { class: 'quiet' });
  const tasks = html('div');
  const columns = ['Task', 'Of', 'For', 'Progress'].map((title) => ({ title }));
  const table = new Table(tasks, `drain-${id}`, columns, makeTask);
  const node = html('article', { 'aria-labelledby': `drain-${id}` }, name, words, tasks);
  return {
    node,
    fill: ({ host, drain, cloud }) => {
      setText(name, host);
      setText(words, drainWords(drain));
      set(tasks, { hidden: !drain || drain.tasks.length === 0 });
      table.show((drain?.tasks ?? []).map((task, index) => ({ ...task, id: index, cloud })));
    },
  };
}

function drainWords(drain) {
  if (!drain) return 'It has begun.';
  const { reason, step, budget_left_ms: leftMs, task_count: tasks } = drain;
  const said = [
    reason ?? '',
    step === null ? '' : `step ${step}`,
    tasks === 0 ? 'nothing left to do' : `${count(tasks, 'task')} left`,
    leftMs === null ? '' : `at most ${duration(leftMs)} more`,
  ];
  return said.filter((text) => text !== '').join(' · ');
}

function makeTask() {
  const [name, of, age] = [html('span'), html('span'), html('span')];
  const bar = makeBar();
  const node = row(
    head(name),
    cell('Of', '', of),
    cell('For', 'number', age),
    cell('Progress', '', bar.node),
  );
  return {
    node,
    fill: (task) => {
      const [what, whose] = [task.name.replaceAll('_', ' '), task.subject && task.cloud.nameOf(task.subject)];
      setText(name, what);
      setText(of, whose ?? '–');
      setText(age, duration(task.age_ms));
      bar.fill(task.progress, whose === null ? what : `${what} of ${whose}`);
    },
  };
}

/** What moves. */
export class Moves {
  #table;

  constructor() {
    const columns = ['Instance', 'Kind', 'From', 'To', 'Status', 'Progress'].map((title) => ({ title }));
    this.#table = new Table(byId('moves'), 'moves-title', columns, makeMove);
  }

  show({ moveList }) {
    set(byId('no-moves'), { hidden: moveList.length > 0 });
    set(byId('moves'), { hidden: moveList.length === 0 });
    this.#table.show(moveList);
  }
}

function makeMove() {
  const [name, kind, from, to, status] = Array.from({ length: 5 }, () => html('span'));
  const bar = makeBar();
  const node = row(
    head(name),
    cell('Kind', '', kind),
    cell('From', '', from),
    cell('To', '', to),
    cell('Status', '', status),
    cell('Progress', '', bar.node),
  );
  return {
    node,
    fill: (move) => {
      setText(name, move.name);
      setText(kind, kindOf(move));
      setText(from, move.source);
      setText(to, move.dest ?? '–');
      setText(status, move.status);
      bar.fill(move.progress, `Move of ${move.name}`);
    },
  };
}

/** All instances that fit the filter, up to a number. */
export class Instances {
  #table;
  #cloud;

  constructor() {
    const columns = ['Name', 'Host', 'State', 'Task'].map((title) => ({ title }));
    this.#table = new Table(byId('instances'), 'instances-title', columns, makeInstance);
    byId('filter').addEventListener('input', () => this.show(this.#cloud));
  }

  show(cloud) {
    this.#cloud = cloud;
    if (!cloud) return;
    const wanted = byId('filter').value.trim().toLowerCase();
    const fits = ({ id, name, host, vm_state: state }) =>
      [id, name, host ?? '', state].some((text) => text.toLowerCase().includes(wanted));
    const all = cloud.instanceList.filter(fits);
    this.#table.show(all.slice(0, MOST_INSTANCES));
    const more = all.length - MOST_INSTANCES;
    const none = wanted === '' ? 'There are none.' : 'None fits.';
    setText(
      byId('more-instances'),
      all.length === 0 ? none : more > 0 ? `And ${more} more: filter them.` : '',
    );
  }
}

function makeInstance() {
  const [name, host, state, task, fault] = Array.from({ length: 5 }, () => html('span'));
  set(fault, { class: 'quiet why' });
  const node = row(
    head(name),
    cell('Host', '', host),
    cell('State', '', state, fault),
    cell('Task', '', task),
  );
  return {
    node,
    fill: (instance) => {
      setText(name, instance.name);
      set(name, { title: instance.id });
      setText(host, instance.host ?? '–');
      setText(state, instance.vm_state);
      set(state, { class: instance.vm_state === 'error' ? 'badge down' : '' });
      setText(fault, instance.fault);
      setText(task, instance.task_state ?? '–');
    },
  };
}
