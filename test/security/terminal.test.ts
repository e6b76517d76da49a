/**
 * What a terminal is sent: all of it passes one gate, so that no text of a run, a file or a configuration moves the cursor, hides a line or
 * turns it round. The oracle reads the bytes that reached the terminal, and knows nothing of the gate.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { openFolder, type Folder } from '../cli/cairn.ts';
import { hasTerminals, inTerminal } from '../cli/terminal.ts';
import { until } from '../support/awaited.ts';

// Processes of a loaded machine start slowly.
vi.setConfig({ testTimeout: 90_000 });

const library = new URL('../../src/index.ts', import.meta.url).href;

/** Files that write to standard output or error, or ask at a terminal, and why they may. */
const writers: Readonly<Record<string, string>> = {
  'src/app/interview/interview.ts': 'passes the gate where it writes',
  'src/cli/files.ts': 'the writer of the command line, which its screen calls',
  'src/cli/main.ts': 'the version of Node, before anything is loaded',
  'src/cli/screen.ts': 'the gate of the command line',
  'src/mcp/serve/start-mcp-server.ts': 'the protocol, which is JSON',
  'src/operations/words/terminal.ts': 'the gate of servers',
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

test.each([
  ['mcp', ['--http', '0'], /listening at/],
  ['serve', ['--http', '0'], /Serving/],
  ['worker', [], /Working on/],
] as const)(
  'escapes: cairn %s says at the start what a configuration of the folder grants, as a terminal may have it',
  async (name, options, isUp) => {
    const folder = openHostile();
    folder.write('cairn.config.json', JSON.stringify({ allow: ['inline', `fs=/tmp/${hostile}`] }));
    if (name === 'worker') {
      folder.cairn('run', 'hostile.ts', '--run-id', id);
      folder.cairn('answer', id, 'a');
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
