/** Webhooks as graphs, texts and schedules say them: what is read, what is refused, and what a text may reach (WH1, WH5). */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { schedule } from '../src/app/schedules/schedule.ts';
import { convertText } from '../src/dialects/convert/convert-text.ts';
import { readDot } from '../src/dialects/dot/index.ts';
import type { Webhook } from '../src/graph/webhooks.ts';
import { AgentGraph, END, flow, START, workflow } from '../src/index.ts';
import type { SendWebhook } from '../src/ports/webhooks.ts';
import type { Permissions } from '../src/graph/permissions/permissions.ts';
import { createBench, edges, graphOf, node } from './engine-kit.ts';
import { createNodeTypes } from '../src/nodes/blocks/index.ts';
import { readWorkflow } from '../src/dialects/yaml/index.ts';
import { until } from './support/awaited.ts';

const hook: Webhook = { url: 'https://hooks.example.org/a?b=1', on: ['completed', 'asked'], secret: 'secret:HOOK' };
const hidden: Webhook = { url: 'http://10.0.0.5:8080/a', on: ['failed'], secret: 'secret:HOOK', private: true };
const nodeTypes = createNodeTypes();

const yaml = `name: told
webhooks:
  - { url: "${hook.url}", on: [completed, asked], secret: "secret:HOOK" }
  - { url: "${hidden.url}", on: [failed], secret: "secret:HOOK", private: true }
blocks: [{ id: a, type: Shell, inputs: { command: "true" } }]
`;
const dot = `digraph told {
  graph [goal="look", webhooks="${hook.url} completed,asked secret:HOOK; ${hidden.url} failed secret:HOOK private"]
  s [shape=Mdiamond]; e [shape=Msquare]; s -> e
}
`;

test('WH1 graphs, workflows, flows, YAML and DOT have webhooks, which are no part of their hash', () => {
  const webhooks = [hook, hidden];
  const built = (options: {
    readonly webhooks?: readonly Webhook[];
  }): readonly { hash: string; webhooks?: unknown }[] => [
    new AgentGraph({}, { id: 'told', ...options })
      .addNode('a', () => 'x')
      .addEdge(START, 'a')
      .addEdge('a', END)
      .toGraph(),
    workflow('told', options)
      .input(z.object({}))
      .step('a', () => 'x')
      .returns(() => 1)
      .toGraph(),
    flow('told', { a: { run: () => 'x' } }, options).toGraph(),
  ];
  const plain = built({});
  for (const [index, graph] of built({ webhooks }).entries()) {
    expect(graph.webhooks).toEqual(webhooks);
    expect(graph.hash).toBe(plain[index]?.hash);
  }
  expect(readWorkflow(yaml, { nodeTypes }).graph.webhooks).toEqual(webhooks);
  expect(readDot(dot, { nodeTypes }).graph.webhooks).toEqual(webhooks);
});

test('WH1 a workflow keeps its webhooks in the other dialect', () => {
  const toDot = convertText(
    { text: yaml, source: 'w.yaml', workflow: readWorkflow(yaml, { nodeTypes }), from: 'yaml', nodeTypes },
    'dot',
  );
  expect(readDot(toDot.text, { nodeTypes }).graph.webhooks).toEqual([hook, hidden]);
  const toYaml = convertText(
    { text: dot, source: 'w.dot', workflow: readDot(dot, { nodeTypes }), from: 'dot', nodeTypes },
    'yaml',
  );
  expect(readWorkflow(toYaml.text, { nodeTypes }).graph.webhooks).toEqual([hook, hidden]);
});

test.each([
  [{ ...hook, url: 'ftp://a.org' }, 'url is no address'],
  [{ ...hook, url: 'https://ann:pw@a.org' }, 'url holds a password'],
  [{ ...hook, on: [] }, 'on is no list of completed, failed, asked, overdue'],
  [{ ...hook, on: ['finished'] }, 'on is no list of completed, failed, asked, overdue'],
  [{ ...hook, secret: 'whsec_in-the-clear' }, 'secret is no reference'],
  [{ ...hook, events: ['completed'] }, 'there is no field events'],
])('WH1 a webhook that says nothing is refused where it is written: %j', (wrong, fault) => {
  const graph = new AgentGraph({}, { id: 'told', webhooks: [wrong as Webhook] })
    .addNode('a', () => 'x')
    .addEdge(START, 'a')
    .addEdge('a', END);
  expect(() => graph.toGraph()).toThrow(fault);
});

test('WH5 a text that is held to grants needs one for the host and the secret, and one by name for a private host', () => {
  const refusalOf = (text: 'yaml' | 'dot', permissions: Permissions): string => {
    try {
      const options = { nodeTypes, origin: 'inline', permissions } as const;
      if (text === 'yaml') readWorkflow(yaml, options);
      else readDot(dot, options);
      return '';
    } catch (error) {
      return JSON.stringify((error as { data: unknown }).data);
    }
  };
  for (const text of ['yaml', 'dot'] as const) {
    const others: Permissions = { shell: true, env: ['HOOK'] };
    expect(refusalOf(text, { shell: true, net: true })).toContain('it is given HOOK (--allow env=HOOK)');
    expect(refusalOf(text, { ...others, net: ['10.0.0.5'] })).toContain('it calls hooks.example.org');
    expect(refusalOf(text, { ...others, net: true })).toContain('--allow net=10.0.0.5:8080');
    expect(refusalOf(text, { ...others, net: ['hooks.example.org', '10.0.0.5'] })).toBe('');
  }
});

test('WH1 a schedule tells its webhooks of each run that it starts', async () => {
  const got: string[] = [];
  const send: SendWebhook = async ({ url, body }) => {
    got.push(`${url} ${(JSON.parse(body) as { type: string }).type}`);
    return { status: 204 };
  };
  const report = graphOf('report', [node('a', 'pure', () => 'x')], edges('> a', 'a >'));
  const { engine, clock } = createBench({
    wakes: true,
    secrets: { read: () => 'whsec_x' },
    webhooks: { hooks: [], send },
    findGraph: (id) => (id === 'report' ? report : undefined),
  });
  const hourly = schedule({ graph: report, engine }, { cron: '@hourly', webhooks: [hook] });
  await hourly.start();
  await clock.advance(3_600_000);
  await until('it is told', () => got.length > 0);
  expect(got[0]).toBe(`${hook.url} run.completed`);
  await hourly.stop();
});
