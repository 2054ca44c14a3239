// The page for operators: it listens to what happens, shows it, and asks for what is to be done.
import { Actions, asked, problemIn } from './actions.js';
import { Cloud, listen } from './cloud.js';
import { byId, set, setText } from './dom.js';
import { Hosts } from './hosts.js';
import { Picture } from './picture.js';
import { Counts, Drains, Instances, Moves } from './sections.js';
import { count, newsOf } from './words.js';

const AGAIN_MS = 3000;

const cloud = new Cloud();
const actions = new Actions(() => void begin());
const sections = [
  new Picture(byId('picture'), byId('picture-words')),
  new Counts(),
  new Drains(),
  new Hosts((name, host) => actions.ask(name, host)),
  new Moves(),
  new Instances(),
];
let stop = () => {};
let isDue = false;

/** Signs in where that is needed, then listens. */
async function begin() {
  stop();
  const answer = await asked('session').catch(() => undefined);
  if (answer?.ok) {
    const { open } = await answer.json();
    set(byId('sign-out'), { hidden: open });
    set(byId('sign-in'), { hidden: true });
    stop = listen(cloud, { onNews, onUnreachable, onLost, onRefused });
  } else if (answer?.status === 401) {
    showSignIn();
  } else if (answer?.status === 403) {
    set(byId('sign-out'), { hidden: false });
    say('lost', 'You may not see this');
  } else {
    onRefused();
  }
}

function showSignIn() {
  say('waits', 'Signed out');
  set(byId('cloud'), { hidden: true });
  set(byId('sign-out'), { hidden: true });
  set(byId('sign-in'), { hidden: false });
  byId('token').focus();
}

function onNews(news) {
  say('live', 'Live');
  set(byId('cloud'), { hidden: false });
  const text = news ? newsOf(cloud, news) : '';
  if (text !== '') setText(byId('news'), text);
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(show);
}

function show() {
  isDue = false;
  for (const section of sections) section.show(cloud);
  const draining = cloud.hostList.filter(({ state }) => state === 'draining').length;
  document.title = draining === 0 ? 'Ebbgate' : `${count(draining, 'host')} draining – Ebbgate`;
}

function onUnreachable() {
  say('lost', 'The records cannot be read now');
}

function onLost() {
  say('lost', 'Connection lost, trying again …');
}

/** The browser does not come again by itself. */
function onRefused() {
  onLost();
  setTimeout(() => void begin(), AGAIN_MS);
}

function say(state, text) {
  set(byId('link'), { 'data-state': state });
  setText(byId('link'), text);
}

byId('sign-in-form').addEventListener('submit', async (event) => {
  event.preventDefault();
  const token = byId('token');
  setText(byId('sign-in-problem'), '');
  const answer = await asked('session', {
    method: 'POST',
    body: JSON.stringify({ token: token.value }),
  }).catch(() => undefined);
  if (answer?.ok) {
    token.value = '';
    void begin();
  } else {
    setText(byId('sign-in-problem'), answer ? await problemIn(answer) : 'The API does not answer.');
  }
});

byId('sign-out').addEventListener('click', async () => {
  await asked('session', { method: 'DELETE' }).catch(() => undefined);
  void begin();
});

void begin();
