/** A page as Chromium shows it, where it is installed: spoken with over a pipe, so that no port is opened and nothing is downloaded. */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { within } from './awaited.ts';

/**
 * A browser: the one that `CAIRN_CHROMIUM` names, one that is installed, or the one of a package, unpacked into the folder for temporary
 * files. Only its path is taken: the arguments that the package proposes switch off what keeps pages apart. Undefined: there is none.
 */
export async function findChromium(): Promise<string | undefined> {
  const named = process.env['CAIRN_CHROMIUM'];
  if (named !== undefined && named !== '') return existsSync(named) ? named : undefined;
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const installed = ['chromium', 'chromium-browser', 'google-chrome']
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find((path) => existsSync(path));
  if (installed !== undefined || process.platform !== 'linux' || process.arch !== 'x64') return installed;
  try {
    const { default: packed } = await import('@sparticuz/chromium');
    const path = await packed.executablePath();
    // A system may lack what it is linked with.
    return spawnSync(path, ['--version'], { timeout: 20_000 }).status === 0 ? path : undefined;
  } catch {
    return undefined;
  }
}

export interface SeenPage {
  /** What the page asked for, itself included. */
  readonly requests: readonly string[];
  /** What stood in the console: messages, errors, and what the page's policy refused. */
  readonly console: readonly string[];
  /** The value of the expression, once the page was loaded. */
  readonly value: unknown;
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly request?: { readonly url: string } };
  readonly result?: { readonly [key: string]: unknown };
  readonly error?: unknown;
}

/** @param expression - evaluated in the page, its value plain data */
export async function lookAt(
  browser: string,
  file: string,
  { widthPx, expression }: { readonly widthPx: number; readonly expression: string },
): Promise<SeenPage> {
  const profile = mkdtempSync(join(tmpdir(), 'cairn-chromium-'));
  const flags = [
    '--headless=new',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-background-networking',
    '--no-first-run',
  ];
  const child = spawn(browser, [...flags, '--remote-debugging-pipe', `--user-data-dir=${profile}`], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<void>((resolve) => void child.once('close', () => resolve()));
  try {
    return await within('what Chromium shows', look(child.stdio[3] as Writable, child.stdio[4] as Readable));
  } finally {
    child.kill('SIGKILL');
    await ended;
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  }

  async function look(input: Writable, output: Readable): Promise<SeenPage> {
    const requests: string[] = [];
    const said: string[] = [];
    const waiting = new Map<number, (message: Message) => void>();
    const loaded = Promise.withResolvers<void>();
    let read = '';
    output.setEncoding('utf8').on('data', (piece: string) => {
      const messages = (read + piece).split('\0');
      read = messages.pop() ?? '';
      for (const text of messages) {
        const message = JSON.parse(text) as Message;
        if (message.id !== undefined) waiting.get(message.id)?.(message);
        else if (message.method === 'Page.loadEventFired') loaded.resolve();
        else if (message.method === 'Network.requestWillBeSent') requests.push(message.params?.request?.url ?? '');
        else if (/consoleAPICalled|exceptionThrown|entryAdded/.test(message.method ?? ''))
          said.push(JSON.stringify(message.params));
      }
    });
    const send = async (method: string, params: object = {}, sessionId?: unknown): Promise<Message['result']> => {
      const { promise, resolve } = Promise.withResolvers<Message>();
      const id = waiting.size + 1;
      waiting.set(id, resolve);
      input.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
      const { result, error } = await promise;
      if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
      return result;
    };
    const target = await send('Target.createTarget', { url: 'about:blank' });
    const session = await send('Target.attachToTarget', { targetId: target?.['targetId'], flatten: true });
    const ask = (method: string, params: object = {}): Promise<Message['result']> =>
      send(method, params, session?.['sessionId']);
    for (const domain of ['Page', 'Network', 'Runtime', 'Log']) await ask(`${domain}.enable`);
    const size = { width: widthPx, height: 800, deviceScaleFactor: 1, mobile: false };
    await ask('Emulation.setDeviceMetricsOverride', size);
    await ask('Page.navigate', { url: pathToFileURL(file).href });
    await loaded.promise;
    const found = await ask('Runtime.evaluate', { expression, returnByValue: true });
    return { requests, console: said, value: (found?.['result'] as { readonly value?: unknown } | undefined)?.value };
  }
}
