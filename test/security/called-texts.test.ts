/**
 * A workflow of somebody else whose own text does nothing, and calls one that runs a command. The oracle is the file `ran`, which that command
 * would write.
 */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { isProving } from '../support/scale.ts';
import { goOn, makeFolder, send, wayNames, ways, type Files } from './sent-runs.ts';

vi.setConfig({ testTimeout: 600_000 });

const ask = '  - { id: ask, type: ConfirmOperation, inputs: { operation: go, message: Go? } }\n';
const main = (blocks: string): string => `name: sent\nblocks:\n${ask}${blocks}`;
const block = (rest: string): string => `  - { id: act, depends_on: [ask], ${rest} }\n`;
const ship = (ran: string): string =>
  `name: ship\nblocks:\n  - { id: act, type: Shell, inputs: { command: "touch ${ran}" } }\n`;
const calling = (name: string, called: string): string =>
  `name: ${name}\nblocks:\n  - { id: call, type: Workflow, inputs: { workflow: ${called} } }\n`;
const pipeline = (name: string, stage: string): string =>
  `digraph ${name} {\n start [shape=Mdiamond]\n exit [shape=Msquare]\n act [${stage}]\n start -> act -> exit\n}\n`;

/** Ways in which a text calls another, as the files of its author. */
const calls: Readonly<Record<string, (ran: string, cwd: string) => Files>> = {
  'a Workflow': (ran) => ({
    'sent.yaml': main(block('type: Workflow, inputs: { workflow: ship }')),
    'ship.yaml': ship(ran),
  }),
  'an ExecuteWorkflow': (ran) => ({
    'sent.yaml': main(block('type: ExecuteWorkflow, inputs: { workflow: ship }')),
    'ship.yaml': ship(ran),
  }),
  'a for_each': (ran) => ({
    'sent.yaml': main(block('type: Workflow, for_each: [1], inputs: { workflow: ship }')),
    'ship.yaml': ship(ran),
  }),
  'two deep': (ran) => ({
    'sent.yaml': main(block('type: Workflow, inputs: { workflow: between }')),
    'between.yaml': calling('between', 'ship'),
    'ship.yaml': ship(ran),
  }),
  'a computed name': (ran) => ({
    'sent.yaml': main(block(`type: Workflow, inputs: { workflow: '\${"sh" + "ip"}' }`)),
    'ship.yaml': ship(ran),
  }),
  'a pipeline': (ran) => ({
    'sent.yaml': main(block('type: Workflow, inputs: { workflow: ship }')),
    'ship.dot': pipeline('ship', `shape=parallelogram, tool_command="touch ${ran}"`),
  }),
  "a pipeline's own child": (ran, cwd) => ({
    'sent.yaml': main(block('type: Workflow, inputs: { workflow: outer }')),
    'outer.dot': pipeline('outer', `shape=house, stack.child_dotfile="${cwd}/ship.dot"`),
    'ship.dot': pipeline('ship', `shape=parallelogram, tool_command="touch ${ran}"`),
  }),
  'an agent': (ran) => ({
    'sent.yaml': main(
      block('type: Agent, inputs: { model: m, prompt: Go., ask_person: false, workflows: [ship], allow: [ship] }'),
    ),
    'ship.yaml': ship(ran),
  }),
};

test.each(Object.keys(calls))('Y6 N8.1 B2.1 trust goes along calls: %s', async (name) => {
  const ran = join(makeFolder(), 'ran');
  const sent = await send((cwd) => calls[name]?.(ran, cwd) ?? {});
  const at = (Object.keys(calls).indexOf(name) + 1) % wayNames.length;
  const tried = Object.entries(ways).filter((_, index) => isProving || index === at);
  for (const [way, come] of tried) {
    const held = await come(sent, ['model']);
    const asked = held.needs?.filter((need) => need.includes('(--allow shell)'));
    expect([way, asked?.length]).toEqual([way, held.needs && 1]);
    expect([way, await goOn(held), existsSync(ran)]).toEqual([way, 'PERMISSION_DENIED', false]);
    const granted = await come(sent, ['model', 'shell']);
    expect([way, await goOn(granted), existsSync(ran)]).toEqual([way, 'completed', true]);
    rmSync(ran);
  }
});
