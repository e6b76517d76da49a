/** The studio: the frame around its pages, and which page is shown. */
import { effect, signal } from '@preact/signals';
import { render, type ComponentType, type JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { me, session, signIn, signOut, startSession, type Problem } from './data/api.ts';
import { announced, Awaited, Dialog, Empty, Trouble } from './parts/common.tsx';
import { Icon } from './parts/icons.tsx';
import { useArrived } from './data/query.ts';
import { waits, watchWaits } from './data/waits.ts';
import { RunsPage } from './pages/runs.tsx';
import { followLinks, goTo, linkTo, page, readParam } from './url.ts';
import './style/tokens.css';
import './style/base.css';
import './style/runs.css';

/** Pages that are loaded when they are first seen. */
const pages: Readonly<Record<string, () => Promise<ComponentType>>> = {
  '': async () => RunsPage,
  run: async () => (await import('./pages/run.tsx')).RunPage,
  inbox: async () => (await import('./pages/inbox.tsx')).InboxPage,
  start: async () => (await import('./pages/start.tsx')).StartPage,
  talk: async () => (await import('./pages/chat.tsx')).ChatPage,
  fork: async () => (await import('./pages/fork.tsx')).ForkPage,
  compare: async () => (await import('./pages/compare.tsx')).ComparePage,
  schedules: async () => (await import('./pages/schedules.tsx')).SchedulesPage,
  workers: async () => (await import('./pages/workers.tsx')).WorkersPage,
  experiments: async () => (await import('./pages/experiments.tsx')).ExperimentsPage,
};

type Theme = 'light' | 'dark';
const dark = matchMedia('(prefers-color-scheme: dark)');
const isTheme = (text: string | null): text is Theme => text === 'light' || text === 'dark';
const stored = localStorage.getItem('cairn.theme');
const chosen = signal<Theme | undefined>(isTheme(stored) ? stored : undefined);
const theme = signal<Theme>('light');
const lookAtTheme = (): void => {
  theme.value = chosen.value ?? (dark.matches ? 'dark' : 'light');
  document.documentElement.dataset['theme'] = theme.value;
};
dark.addEventListener('change', lookAtTheme);
effect(lookAtTheme);

function switchTheme(): void {
  chosen.value = theme.value === 'dark' ? 'light' : 'dark';
  localStorage.setItem('cairn.theme', chosen.value);
}

const areKeysShown = signal(false);

/** Goes to the search, once its page is seen. @param frames - in which it is tried */
function focusSearch(frames: number): void {
  const search = document.getElementById('search');
  search?.focus();
  if (frames > 0 && (search === null || document.activeElement !== search))
    requestAnimationFrame(() => focusSearch(frames - 1));
}

/** `g` and then a letter goes to a page. */
function listenForKeys(): void {
  let isGoing = false;
  document.addEventListener('keydown', (event) => {
    const { target, key } = event;
    const isTyping = (target as Element).matches('input, select, textarea');
    if (isTyping || event.metaKey || event.ctrlKey || event.altKey || document.querySelector('dialog[open]')) return;
    const to = { r: '', i: 'inbox', s: 'start', c: 'talk', t: 'schedules', w: 'workers', e: 'experiments' }[key];
    if (isGoing && to !== undefined) goTo(linkTo(to));
    else if (key === '?') areKeysShown.value = true;
    else if (key === '/') {
      event.preventDefault();
      if (page.value !== '') goTo(linkTo(''));
      focusSearch(60);
    } else if (!isGoing && (key === 'j' || key === 'ArrowDown') && target === document.body)
      document.querySelector<HTMLElement>('.virtual a')?.focus();
    isGoing = key === 'g';
  });
}

function Keys(): JSX.Element | null {
  if (!areKeysShown.value) return null;
  const keys = [
    ['g r', 'runs'],
    ['g i', 'inbox'],
    ['g s', 'start a run'],
    ['g c', 'chat with an agent'],
    ['g t', 'schedules'],
    ['g w', 'workers'],
    ['g e', 'experiments'],
    ['/', 'find a run'],
    ['j k', 'next, previous row'],
    ['← →', 'on a run: a checkpoint back, forth'],
    ['[ ]', 'on a run: the question before, after'],
    ['l', 'on a run: live again'],
    ['?', 'this list'],
  ] as const;
  return (
    <Dialog title="Keys" onClose={() => (areKeysShown.value = false)}>
      <h2>Keys</h2>
      <dl class="keys">
        {keys.map(([key, does]) => (
          <>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd class="quiet small">{does}</dd>
          </>
        ))}
      </dl>
    </Dialog>
  );
}

function Rail(): JSX.Element {
  const open = waits.value?.waits.length ?? 0;
  useEffect(() => {
    document.title = open === 0 ? 'Cairn' : `(${open}) Cairn`;
  }, [open]);
  const links = [
    ['', 'Runs', 'runs'],
    ['inbox', 'Inbox', 'inbox'],
    ['start', 'Start', 'start'],
    ...(me.value?.chat === undefined ? [] : [['talk', 'Chat', 'chat'] as const]),
    ['schedules', 'Schedules', 'clock'],
    ['workers', 'Workers', 'workers'],
    ['experiments', 'Experiments', 'fork'],
  ] as const;
  return (
    <header class="rail">
      <a class="brand" href="./">
        <img src="./icon.svg" width="20" height="20" alt="" />
        Cairn
      </a>
      <nav aria-label="Pages">
        {links.map(([name, title, icon]) => (
          <a
            href={linkTo(name)}
            aria-current={
              page.value === name || (name === '' && ['run', 'fork', 'compare'].includes(page.value))
                ? 'page'
                : undefined
            }
          >
            <Icon name={icon} />
            {title}
            {name === 'inbox' && open > 0 && (
              <span class="count">
                {open}
                <span class="hidden-text"> open</span>
              </span>
            )}
          </a>
        ))}
      </nav>
      <div class="foot">
        <div class="row">
          <button
            type="button"
            class="button bare icon"
            onClick={switchTheme}
            title="Light or dark"
            aria-label={`Switch to ${theme.value === 'dark' ? 'light' : 'dark'}`}
          >
            <Icon name={theme.value === 'dark' ? 'sun' : 'moon'} />
          </button>
          <button
            type="button"
            class="button bare icon"
            onClick={() => (areKeysShown.value = true)}
            title="Keys"
            aria-label="Keys"
          >
            <span aria-hidden="true">?</span>
          </button>
          <button
            type="button"
            class="button bare icon push"
            onClick={signOut}
            title="Sign out of this tab"
            aria-label="Sign out"
          >
            <Icon name="out" />
          </button>
        </div>
        <span class="foreign">
          {me.value?.principal}
          {me.value?.isReadOnly === true && ' · read only'}
        </span>
      </div>
    </header>
  );
}

function SignIn(): JSX.Element {
  const [problem, setProblem] = useState<Problem>();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const field = (event.currentTarget as HTMLFormElement).elements.namedItem('token') as HTMLInputElement;
    signIn(field.value).catch((error: Problem) => setProblem(error));
  };
  return (
    <main class="sign-in" id="main" tabIndex={-1}>
      <form class="card" onSubmit={submit}>
        <div class="body stack">
          <h1 class="brand">
            <img src="./icon.svg" width="24" height="24" alt="" />
            Cairn
          </h1>
          <label for="token">Token</label>
          <input class="field" id="token" name="token" type="password" autocomplete="off" required autofocus />
          <p class="quiet small">
            <code>cairn serve</code> prints it. <code>cairn studio</code> opens this page signed in.
          </p>
          {problem !== undefined && <Trouble problem={problem} />}
          <button type="submit" class="button primary">
            Sign in
          </button>
        </div>
      </form>
    </main>
  );
}

function Page(): JSX.Element | null {
  const name = page.value;
  const [shown, setShown] = useState<{ readonly name: string; readonly Part: ComponentType }>({
    name: '',
    Part: RunsPage,
  });
  useEffect(() => {
    let isLeft = false;
    const load = pages[name];
    if (load === undefined) setShown({ name, Part: NoPage });
    else
      void load().then((Part) => {
        if (!isLeft) setShown({ name, Part });
      });
    return () => {
      isLeft = true;
    };
  }, [name]);
  const { Part } = shown;
  return shown.name === name ? <Arriving key={`${name} ${readParam('id') ?? ''}`} Part={Part} /> : <Coming />;
}

/** Shows a page when it is whole, and lines in its place until then. */
function Arriving({ Part }: { readonly Part: ComponentType }): JSX.Element {
  const hasArrived = useArrived();
  return (
    <>
      {!hasArrived && <Coming />}
      <div class={hasArrived ? undefined : 'unseen'}>
        <Part />
      </div>
    </>
  );
}

function Coming(): JSX.Element {
  return (
    <div class="page coming">
      <h1 class="hidden-text">Loading</h1>
      <Awaited lines={8} />
    </div>
  );
}

function NoPage(): JSX.Element {
  return (
    <Empty title="There is no such page" isPage>
      <a class="button" href="./">
        Show the runs
      </a>
    </Empty>
  );
}

function Studio(): JSX.Element | null {
  if (session.value === 'starting') return null;
  if (session.value === 'signed-out') return <SignIn />;
  return (
    <>
      <a class="skip button" href="#main">
        To the page
      </a>
      <div class="frame">
        {me.value !== undefined && <Rail />}
        <main id="main" tabIndex={-1}>
          {me.value !== undefined && <Page />}
        </main>
      </div>
      {session.value === 'unreachable' && (
        <div class="offline" role="alert">
          The server cannot be reached. Trying again; nothing here moves until then.
        </div>
      )}
      <Keys />
      <div class="hidden-text" role="status" aria-live="polite">
        {announced.value}
      </div>
    </>
  );
}

followLinks();
listenForKeys();
const place = document.getElementById('app');
if (place !== null) render(<Studio />, place);
watchWaits();
void startSession();
