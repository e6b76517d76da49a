/**
 * What a terminal is sent: all of it passes one gate, so that no text of a run, a file or a configuration moves the cursor, hides a line or
 * turns it round. The oracles read the bytes that reached the terminal, and what a terminal emulator makes of them; they know nothing of the gate.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import emulator from '@xterm/headless';
import * as fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { createDefaultEngine } from '../../src/app/default-engine.ts';
import { createSystemIds } from '../../src/app/process/process-ids.ts';
import type { CompiledGraph } from '../../src/index.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { forTerminal, printable } from '../../src/operations/format/terminal.ts';
import { openFolder, type Folder } from '../cli/cairn.ts';
import { hasTerminals, inTerminal } from '../cli/terminal.ts';
import { until } from '../support/awaited.ts';
import { scale } from '../support/scale.ts';

// Processes of a loaded machine start slowly.
vi.setConfig({ testTimeout: 90_000 });

const library = new URL('../../src/index.ts', import.meta.url).href;

/** Files that write to standard output or error, or ask at a terminal, and why they may. */
const writers: Readonly<Record<string, string>> = {
  'src/app/interview/interview.ts': 'passes the gate where it writes',
  'src/app/process/lease-thread.ts': 'one line of printable letters, while the event loop is held',
  'src/cli/files.ts': 'the writer of the command line, which its screen calls',
  'src/cli/main.ts': 'the version of Node, before anything is loaded',
  'src/cli/screen.ts': 'the gate of the command line',
  'src/mcp/serve/start-mcp-server.ts': 'the protocol, which is JSON',
  'src/operations/format/terminal.ts': 'the gate of servers',
};

test('escapes: no file but the gates writes to a terminal', () => {
  const root = join(import.meta.dirname, '../..');
  const goingAround = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .map((name) => `src/${name.replaceAll('\\', '/')}`)
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .filter((name) => {
      const code = readFileSync(join(root, name), 'utf8').replace(/\/\*[^]*?\*\/|\/\/.*$/gmu, '');
      return /\bprocess\.std(?:out|err)\b|\bconsole\.|@clack\/prompts|writeSync\(\s*[12]\b/u.test(code);
    });
  expect(goingAround.sort()).toEqual(Object.keys(writers).sort());
});

/** Sets the title, clears the screen, hides what follows, turns the line round, ends it, and is seen nowhere. */
const hostile = '\u001b]0;TITLE\u0007\u001b[2J\u001b[8m\u009b31m\u202e\u2028\u2066\u200f\r';
const written = JSON.stringify(hostile);
/** What is left of it where it was let through. */
// oxlint-disable-next-line no-control-regex
const isDangerous = /\u001b\]|\u0007|\u001b\[2J|\u001b\[8m|\u009b|\u202e|\u2028|\u2066|\u200f/u;

function openHostile(): Folder {
  const folder = openFolder();
  folder.write(
    'hostile.ts',
    `import { AgentGraph, END, functionNode, humanNode, START } from '${library}';
const bad = ${written};
export const graph = new AgentGraph({}, { id: 'hostile' })
  .addNode('n' + bad, functionNode(async () => { await new Promise((done) => setTimeout(done, 300)); return bad; }))
  .addNode('ask', humanNode({ prompt: 'Go? ' + bad, choices: [{ value: 'a', label: 'yes ' + bad }, { value: 'b', label: 'no' }] }))
  .addNode('fail', functionNode(() => { throw new Error('lost ' + bad); }))
  .addEdge(START, 'n' + bad).addEdge('n' + bad, 'ask').addEdge('ask', 'fail').addEdge('fail', END).compile();
`,
  );
  return folder;
}

test.runIf(hasTerminals)(
  'escapes: names, questions, choices and failures of a run reach no terminal as they are',
  async () => {
    const folder = openHostile();
    const terminal = inTerminal(folder, 'run', 'hostile.ts', '--run-id', 'r');
    await terminal.shows(/Go\? /);
    terminal.type('\r');
    const { sent, shown } = await terminal.ended();
    expect(shown).toContain('TITLE');
    expect(shown).toContain('lost ');
    expect(sent).toContain('\u001b[J');
    expect(sent.match(isDangerous)).toBeNull();
    for (const words of [
      ['show', 'r'],
      ['log', 'r'],
      ['post-mortem', 'r'],
    ]) {
      const { out, err } = folder.cairn(...words);
      expect([words[0], err.match(isDangerous)]).toEqual([words[0], null]);
      expect([words[0], out.match(isDangerous)]).toEqual([words[0], null]);
    }
  },
);

const id = `r${hostile}`;

/** A run that an earlier version began, which took such ids, and whose question is answered. */
async function leaveRun(folder: Folder, runId: string): Promise<void> {
  const { graph } = (await import(pathToFileURL(join(folder.path, 'hostile.ts')).href)) as { graph: CompiledGraph };
  const store = openSqliteStore({ path: join(folder.path, 'runs.db') });
  const ids = { ...createSystemIds(), createRunId: () => runId };
  const engine = createDefaultEngine({ store, ids });
  const { waits } = await (await engine.start(graph.graph, {})).result();
  await engine.answer(runId, waits[0]?.waitId ?? '', 'a', { stays: true });
  await engine.close();
  await store.close();
}

test.each([
  ['mcp', ['--http', '0'], /listening at/],
  ['serve', ['--http', '0'], /Serving/],
  ['worker', ['--store', 'sqlite:runs.db'], /Working on/],
] as const)(
  'escapes: cairn %s says at the start what a configuration of the folder grants, as a terminal may have it',
  async (name, options, isUp) => {
    const folder = openHostile();
    folder.write('cairn.config.json', JSON.stringify({ allow: ['inline', `fs=/tmp/${hostile}`] }));
    if (name === 'worker') {
      await leaveRun(folder, id);
    }
    const child = folder.start(name, ...options, ...(name === 'mcp' ? [] : ['--modules', 'hostile.ts']));
    let lines = '';
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => (lines += text));
    try {
      await until(`${name} is up`, () => isUp.test(lines), 20);
      if (name === 'worker') await until('a run was taken', () => /failed/.test(lines), 20);
      expect(lines).toMatch(/cairn\.config\.json grants workflows given as texts: inline, fs=\/tmp\/.*TITLE/);
      expect(lines.match(isDangerous)).toBeNull();
    } finally {
      child.kill('SIGKILL');
    }
  },
);

/** What an emulator makes of bytes that come behind a line of ours: its screen, and all that is more than text, a new line or a colour. */
async function emulate(sent: string): Promise<{ readonly lines: readonly string[]; readonly acts: readonly string[] }> {
  const terminal = new emulator.Terminal({ cols: 1_000, rows: 200, allowProposedApi: true, convertEol: true });
  const acts: string[] = [];
  const note = (what: string): false => {
    acts.push(what);
    return false;
  };
  const finals = Array.from({ length: 63 }, (_, index) => String.fromCodePoint(64 + index));
  for (const final of finals) {
    for (const prefix of [undefined, '?', '>', '<', '='] as const)
      if (final !== 'm' || prefix !== undefined)
        terminal.parser.registerCsiHandler({ final, ...(prefix !== undefined && { prefix }) }, () =>
          note(`CSI ${final}`),
        );
    if (final >= 'c') terminal.parser.registerEscHandler({ final }, () => note(`ESC ${final}`));
    terminal.parser.registerDcsHandler({ final }, () => note(`DCS ${final}`));
  }
  for (const id of [0, 1, 2, 4, 8, 10, 11, 12, 52, 104, 1337])
    terminal.parser.registerOscHandler(id, () => note(`OSC ${id}`));
  terminal.onTitleChange(() => note('title'));
  terminal.onBell(() => note('bell'));
  terminal.onData((data) => note(`answers ${JSON.stringify(data)}`));
  await new Promise<void>((resolve) => terminal.write(`ours\n${sent}end\n`, resolve));
  const { active } = terminal.buffer;
  if (active.type !== 'normal') note('another screen');
  const { cursorX, cursorY, length } = active;
  const lines = Array.from({ length }, (_, y) => active.getLine(y)?.translateToString(true) ?? '');
  const cell = active.getLine(cursorY - 1)?.getCell(0);
  if (cursorX !== 0 || cell?.getChars() !== 'e') note('the cursor is elsewhere');
  // Colours of ours may stand in a text; they hide nothing.
  if (cell?.isInvisible() !== 0 || cell.isInverse() !== 0 || !cell.isBgDefault()) note('text is hidden');
  terminal.dispose();
  return { lines: lines.slice(0, cursorY), acts };
}

const sign = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '\u001b',
      '\u009b',
      '\u009d',
      '\u0090',
      '\u001bP',
      '\u001b]',
      '\u001b[',
      '\u001b#8',
      '\u001bc',
    ),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '2J',
      '0;x\u0007',
      '?1049h',
      '8m',
      '31m',
      '1A',
      '52;c;eA==\u0007',
      '6n',
      '\u001b\\',
      '\u009c',
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '\r',
      '\b',
      '\u0007',
      '\u000e',
      '\v',
      '\f',
      '\0',
      '\u007f',
      '\u0085',
      '\u202e',
      '\u2028',
    ),
  },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 3 }) },
  { weight: 2, arbitrary: fc.constantFrom('\n', '\t', 'text', '\r\n') },
);
const hostileText = fc.array(sign, { minLength: 1, maxLength: 12 }).map((signs) => signs.join(''));

test('escapes: an emulator finds nothing but text and lines in whatever a text holds, and the line before stays', async () => {
  // The emulator sees what is let through.
  expect((await emulate('\u001b[2J\u001b]0;x\u0007\u001b[8m\u0007')).acts).not.toEqual([]);
  await fc.assert(
    fc.asyncProperty(hostileText, async (text) => {
      const whole = await emulate(`${forTerminal(text)}\n`);
      expect(whole.acts).toEqual([]);
      expect([whole.lines[0], whole.lines.length]).toEqual(['ours', text.split('\n').length + 2]);
      const line = await emulate(`a ${printable(text)} b\n`);
      expect([line.acts, line.lines.length, line.lines[1]?.at(-1)]).toEqual([[], 3, 'b']);
    }),
    { numRuns: scale(60, 5_000) },
  );
}, 600_000);

/** Files with a hostile text at each place that a person may be shown. */
const hostileFile = (text: string): Readonly<Record<string, string>> => {
  const quoted = JSON.stringify(text);
  return {
    'w.yaml': `name: w\ndescription: ${quoted}\ninputs: { x: { type: str, default: ${quoted} } }\nblocks:\n  - { id: ask, type: ConfirmOperation, inputs: { operation: ${quoted}, message: ${quoted} } }\n`,
    'bad.yaml': `name: ${quoted}\n${quoted}: 1\nblocks:\n  - { id: ${quoted}, type: ${quoted}, ${quoted}: 1 }\n`,
    'w.dot': `digraph w { graph [goal=${quoted}]; s [shape=Mdiamond]; e [shape=Msquare]; a [shape=box, label=${quoted}, nope=${quoted}]; s -> a -> e }\n`,
  };
};
const shownBy: readonly (readonly string[])[] = [
  ['lint', 'bad.yaml'],
  ['lint', 'w.dot'],
  ['convert', '--to', 'yaml', 'w.dot'],
  ['convert', '--to', 'dot', 'w.yaml'],
  ['plan', 'w.dot'],
  ['run', 'w.dot', '--dry-run'],
  ['lint', 'w.yaml', '--json'],
  ['workflows', '--workflows', '.'],
];

test.runIf(hasTerminals)(
  'escapes: whatever text stands in a file, what commands print of it does nothing to an emulator',
  async () => {
    const folder = openFolder();
    await fc.assert(
      fc.asyncProperty(hostileText, fc.nat(shownBy.length - 1), async (text, nth) => {
        for (const [name, content] of Object.entries(hostileFile(text))) folder.write(name, content);
        const words = shownBy[nth] as readonly string[];
        const { sent } = await inTerminal(folder, ...words).ended();
        expect([words.join(' '), (await emulate(sent)).acts]).toEqual([words.join(' '), []]);
      }),
      { numRuns: scale(4, 200) },
    );
  },
  1_200_000,
);
