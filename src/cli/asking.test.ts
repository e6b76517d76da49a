/** The command line as a process in a terminal: questions that are over while somebody is asked them. */
import { expect, test, vi } from 'vitest';
import { openFolder, type Folder } from '../../test/cli/cairn.ts';
import { hasTerminals, inTerminal, inTerminalOf } from '../../test/cli/terminal.ts';

// Processes of a loaded machine start slowly.
vi.setConfig({ testTimeout: 60_000 });

const library = new URL('../index.ts', import.meta.url).href;

/** A folder with a graph that asks whether to publish. */
function openAsking(options: string): Folder {
  const folder = openFolder();
  folder.write(
    'asks.ts',
    `import { AgentGraph, END, functionNode, humanNode, START } from '${library}';
export const graph = new AgentGraph({}, { id: 'asks' })
  .addNode('approve', humanNode({ prompt: 'Publish?', choices: ['yes', 'no']${options} }))
  .addNode('say', functionNode((ctx) => \`published: \${ctx.state.outputs.approve}\`, { outputAs: 'said' }))
  .addEdge(START, 'approve').addEdge('approve', 'say').addEdge('say', END).compile();
`,
  );
  return folder;
}

test.runIf(hasTerminals)(
  'W5.2 a prompt ends with a line that says so when its deadline passes, and the run goes on',
  async () => {
    const asked = inTerminal(openAsking(", timeoutMs: 3_000, defaultAnswer: 'no'"), 'run', 'asks.ts', '--run-id', 'r');
    await asked.shows(/◆ {2}Publish\?/);
    const { code, shown } = await asked.ended();
    expect(shown).toMatch(/\nThe time to answer approve is over; the run goes on\.\n[^]*\ncompleted r@\d+\n/);
    expect(shown).toContain('"said": "published: no"');
    expect(code).toBe(0);
  },
);

test.runIf(hasTerminals).each([[[]], [['--resume']]])(
  'W3 who answers in a terminal what somebody else has answered %j is told so, and the run goes on',
  async (more) => {
    const folder = openAsking('');
    const asked = inTerminal(folder, 'run', 'asks.ts', '--run-id', 'r');
    await asked.shows(/◆ {2}Publish\?/);
    expect(folder.cairn('answer', 'r', 'no', ...more).code).toBe(0);
    asked.type('\r');
    const { code, shown } = await asked.ended();
    expect(shown).toMatch(/\[WAIT_CLOSED\]/);
    expect(shown).toContain('"said": "published: no"');
    expect(code).toBe(0);
  },
);

test.runIf(hasTerminals)(
  'H1 a terminal that does not know its size, and says 0, is taken for one of 80 columns',
  async () => {
    const asked = inTerminalOf('cols 0 rows 0', openAsking(''), 'run', 'asks.ts', '--run-id', 'r');
    await asked.shows(/◆ {2}Publish\?\n/);
    asked.type('\r');
    const { code, shown } = await asked.ended();
    expect(shown).toContain('"said": "published: yes"');
    expect(code).toBe(0);
  },
);
