/** Inline workflows reach only for what they are granted. */
import { expect, test } from 'vitest';
import { createBench, runToRest } from '../../../../test/engine-kit.ts';
import { journal, optionsOf, read, runText, type Others } from '../../../../test/yaml-kit.ts';
import type { NodeType } from '../../../graph/contracts/node-type.ts';
import type { Permissions } from '../../../graph/permissions/permissions.ts';
import { checkWorkflow, readBundle } from '../index.ts';

const head = 'name: w\ndescription: d\n';
const effect = `${head}blocks: [{ id: a, type: Effect }]\n`;
const fetching: NodeType = {
  name: 'Fetch',
  description: 'Calls a server.',
  inputs: { url: { schema: { type: 'string' }, description: 'an address', isRequired: true } },
  outputs: {},
  effect: 'external',
  needs: ({ url }) => [{ kind: 'net', host: typeof url === 'string' ? new URL(url).host : undefined }],
  run: ({ inputs }) => {
    journal.done.push({ key: '', value: inputs['url'], attempt: 1 });
    return {};
  },
};
const nodeTypes = [...optionsOf().nodeTypes, fetching];

test('Y6 a block outside the permissions is refused when the text is read, by name', () => {
  const refused = (text: string, permissions = {}): unknown => {
    try {
      read(text, { origin: 'inline', permissions, nodeTypes });
      return undefined;
    } catch (error) {
      return error;
    }
  };
  expect(refused(effect)).toMatchObject({
    code: 'PERMISSION_DENIED',
    data: { need: 'f.yaml:3:10', reason: 'Effect is not allowed here: it runs commands (--allow shell)' },
  });
  expect(refused(effect, { shell: true })).toBeUndefined();
  expect(refused(`${effect}x: 1\n`)).toMatchObject({ code: 'GRAPH_INVALID' });
  const secret = `${head}secrets: [K]\nblocks: [{ id: a, type: Note, inputs: { token: "\${secrets.K}" } }]\n`;
  expect(refused(secret)).toMatchObject({ code: 'PERMISSION_DENIED' });
  expect(refused(secret, { env: ['K'] })).toBeUndefined();
  const fetch = `${head}blocks: [{ id: a, type: Fetch, inputs: { url: "https://a.org/x" } }]\n`;
  expect(refused(fetch, { net: ['b.org'] })).toMatchObject({ code: 'PERMISSION_DENIED' });
  expect(refused(fetch, { net: ['a.org'] })).toBeUndefined();
});

test('Y6 files of the operator and checks ask nothing', () => {
  expect(read(effect).name).toBe('w');
  expect(checkWorkflow(effect, { ...optionsOf(), origin: 'inline' }).violations).toEqual([]);
});

test('Y6 Y13 a run whose computed name is granted keeps what that workflow calls, and goes on without the files', async () => {
  const others = {
    own: `name: own\nblocks: [{ id: c, type: Workflow, inputs: { workflow: leaf } }]\n`,
    leaf: named('leaf'),
  };
  const text = `${head}inputs: { n: {} }\nblocks: [{ id: c, type: Workflow, inputs: { workflow: "\${n}" } }]\n`;
  const permissions = { workflow: ['own'] };
  const saved = read(text, { origin: 'inline', permissions, others }).graph.text ?? '';
  const { engine } = createBench();
  const { graph } = readBundle(saved, { nodeTypes, permissions });
  expect((await runToRest(engine, graph, { n: 'own' })).status).toBe('completed');
  expect((await runToRest(engine, graph, { n: 'leaf' })).error?.message).toContain('workflow=leaf');
  // Nothing of the operator's is saved for a text that is granted nothing.
  expect(read(text, { origin: 'inline', others }).graph.text).not.toContain('leaf');
});

test('Y6 what is computed is held to the permissions before the attempt, which certainly did nothing', async () => {
  const text = `${head}inputs: { url: {} }\nblocks: [{ id: a, type: Fetch, inputs: { url: "\${url}" } }]\n`;
  const more = { origin: 'inline', permissions: { net: ['a.org'] }, nodeTypes } as const;
  journal.done.length = 0;
  const refused = await runText(text, { url: 'https://b.org/' }, more);
  expect(refused.result.error?.data).toMatchObject({ node: 'a', code: 'PERMISSION_DENIED' });
  expect(journal.done).toEqual([]);
  const { graph } = read(text, { ...more, permissions: { net: true } });
  const retried = await (await refused.engine.resume(refused.result.runId, { graph })).result();
  expect(retried.status).toBe('completed');
  const allowed = await runText(text, { url: 'https://a.org/' }, more);
  expect(allowed.result.status).toBe('completed');
});

const denied = (reason: string): object => ({ code: 'PERMISSION_DENIED', message: expect.stringContaining(reason) });
const named = (name: string): string => effect.replace('name: w', `name: ${name}`);

test('Y6 an inline workflow calls those of the operator that are granted by name, which may do all that they say', async () => {
  const others = { own: named('own'), other: named('other') };
  const text = `${head}blocks: [{ id: c, type: Workflow, inputs: { workflow: own } }]\n`;
  const permissions = { workflow: ['other'] };
  expect(() => read(text, { origin: 'inline', permissions, others })).toThrow(
    expect.objectContaining(denied('--allow workflow=own')),
  );
  const granted = { origin: 'inline', permissions: { workflow: ['own'] }, others } as const;
  expect((await runText(text, {}, granted)).result.status).toBe('completed');
  // A name that is computed is judged before its workflow begins.
  const computed = `${head}inputs: { n: {} }\nblocks: [{ id: c, type: Workflow, inputs: { workflow: "\${n}" } }]\n`;
  expect((await runText(computed, { n: 'own' }, granted)).result.status).toBe('completed');
  journal.done.length = 0;
  const { result } = await runText(computed, { n: 'other' }, granted);
  expect([result.status, result.error?.message]).toEqual(['failed', expect.stringContaining('workflow=other')]);
  expect(journal.done).toEqual([]);
});

test('Y6 what comes with a text is held to its permissions, also under the name of a workflow that is granted', () => {
  const { graph } = read(`${head}blocks: [{ id: c, type: Workflow, inputs: { workflow: own } }]\n`, {
    others: { own: named('own').replace('id: a', 'id: theirs'), ours: named('ours') },
  });
  const foreign = (permissions: Permissions, others: Others): unknown =>
    readBundle(graph.text ?? '', { ...optionsOf({ others }), origin: 'inline', permissions }).name;
  const ours = { own: named('own') };
  expect(() => foreign({}, {})).toThrow(expect.objectContaining(denied('--allow shell')));
  expect(() => foreign({ workflow: true }, ours)).toThrow(expect.objectContaining(denied('--allow shell')));
  expect(foreign({ shell: true }, ours)).toBe('w');
  // The same text as the operator's is the operator's.
  const same = { own: named('own').replace('id: a', 'id: theirs') };
  expect(foreign({ workflow: ['own'] }, same)).toBe('w');
  expect(() => foreign({}, same)).toThrow(expect.objectContaining(denied('--allow shell')));
});

test('Y6 what a workflow of the operator calls is the operator’s, whatever came under its name', async () => {
  const call = (name: string, called: string): string =>
    `name: ${name}\nblocks: [{ id: c, type: Workflow, inputs: { workflow: ${called} } }]\n`;
  const note = 'name: leaf\nblocks: [{ id: n, type: Note }]\n';
  const { graph } = read(call('w', 'own'), { others: { own: call('own', 'leaf'), leaf: named('leaf') } });
  const others = { own: call('own', 'leaf'), leaf: note };
  const workflow = readBundle(graph.text ?? '', {
    ...optionsOf({ others }),
    origin: 'inline',
    permissions: { workflow: ['own'] },
  });
  journal.done.length = 0;
  const { engine } = createBench();
  expect((await runToRest(engine, workflow.graph)).status).toBe('completed');
  expect(journal.done).toEqual([]);
});

test('Y6 a run that is taken up again is held to the permissions of the process that takes it up', async () => {
  const text = `${head}blocks: [{ id: q, type: Ask, inputs: { prompt: p } }, { id: a, type: Effect, depends_on: [q] }]\n`;
  const { graph } = read(text, { origin: 'inline', permissions: { shell: true } });
  const { engine } = createBench();
  await runToRest(engine, graph);
  expect(() => readBundle(graph.text ?? '', optionsOf())).toThrow(
    expect.objectContaining({ code: 'PERMISSION_DENIED' }),
  );
  expect(readBundle(graph.text ?? '', { ...optionsOf(), permissions: { shell: true } }).graph.hash).toBe(graph.hash);
  expect(readBundle(read(text).graph.text ?? '', optionsOf()).name).toBe('w');
});

test('Y6 what is given but not known yet is told to the type, and granted if any of its kind is', () => {
  const pendings: unknown[] = [];
  const type: NodeType = {
    ...fetching,
    needs: (inputs, pending) => (pendings.push([inputs, pending]), [{ kind: 'net', host: undefined }]),
  };
  const text = `${head}inputs: { url: {} }\nblocks: [{ id: a, type: Fetch, inputs: { url: "\${url}" } }]\n`;
  read(text, { origin: 'inline', permissions: { net: ['a.org'] }, nodeTypes: [type] });
  expect(pendings).toEqual([[{}, ['url']]]);
});
