/**
 * Defects that engines of this kind of format have had in running blocks, each shown not to be here. More: traps-format.test.ts,
 * traps-pauses.test.ts. Shown elsewhere:
 * - a literal empty collection, retries, keys and failures of items: src/dialects/yaml/block-nodes/for-each.test.ts (Y10)
 * - exit codes replaced when a file output is missing, processes that outlive a timeout, streams that are the server's, an inherited
 *   standard input: src/nodes/blocks/shell.test.ts (B6, B7), src/nodes/shell-node.test.ts, test/mcp/bounds.test.ts (M1)
 * - params dropped, `WITH` without rows, JSON as text, isolation that is ignored: src/nodes/blocks/sql*.test.ts
 * - text bodies and lists as bodies: src/nodes/blocks/http-call.test.ts (B8); lost updates of state files: json-state.test.ts (B17)
 * - answers that no schema holds: src/nodes/blocks/llm/llm-call.test.ts (B54)
 * - workflows that call each other without end, which ended the whole run: src/dialects/yaml/block-nodes/calls.test.ts (Y7)
 * - jobs that are failed and said to be completed, cancelling that kills workers: test/mcp/runs.test.ts (M4, M8); jobs lost at a
 *   restart: test/mcp/recovery.test.ts (M8); deleted files that stay known: src/app/workflows/workflow-catalog.test.ts (D11)
 * Does not apply: a queue of jobs, its counters and its limits (there is none); scratch folders (none are made); images, embeddings
 * and memory blocks (there are none).
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { RunResult } from '../../src/engine/api.ts';
import { outputsOf, yamlBench } from '../yaml-bench.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-traps-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const start = (blocks: string, more = '', inputs: object = {}): Promise<RunResult> =>
  yamlBench().start(`name: x\n${more}\nblocks:${blocks}`, inputs);

describe('failures and skips', () => {
  test('Y8 a failed block fails the run; a run with failed blocks is never a success unless the file says so', async () => {
    const block = (rest: string): string => `
  - { id: bad, type: Shell, ${rest} inputs: { command: exit 3 } }
  - { id: after, type: EchoBlock, depends_on: [bad], inputs: { message: x } }`;
    expect(await start(block(''))).toMatchObject({ status: 'failed', failed: ['bad'] });
    const passed = await start(
      block('continue_on_error: true,'),
      'outputs: { s: "${blocks.bad.status} ${blocks.after.status}" }',
    );
    expect(passed).toMatchObject({ status: 'completed' });
    expect(outputsOf(passed)).toEqual({ s: 'failed skipped' });
    expect(passed.state.failures['bad']).toMatchObject({ code: 'EXIT_CODE', data: { exit_code: 3 } });
  });

  test('Y8 what was done before a failure, and beside it, is kept and shown', async () => {
    const failed = await start(`
  - { id: first, type: EchoBlock, inputs: { message: a } }
  - { id: bad, type: Shell, depends_on: [first], inputs: { command: exit 3 } }
  - { id: beside, type: EchoBlock, depends_on: [first], inputs: { message: b } }`);
    expect(Object.keys(failed.state.outputs).toSorted()).toEqual(['beside', 'first']);
  });

  test('Y8 a condition that cannot be read fails its block, not all of the run', async () => {
    const result = await start(`
  - { id: a, type: EchoBlock, inputs: { message: x } }
  - { id: bad, type: EchoBlock, depends_on: [a], condition: "\${int(a.echoed) > 1}", continue_on_error: true, inputs: { message: x } }
  - { id: beside, type: EchoBlock, depends_on: [a], inputs: { message: x } }`);
    expect(result).toMatchObject({ status: 'completed', failed: ['bad'] });
    expect(Object.keys(result.state.outputs)).toContain('beside');
  });

  test('T6 a block that never ran has no exit code 0, no empty text and no success', async () => {
    const shell = (id: string, rest: string): string => `
  - { id: ${id}, type: Shell, condition: "1 == 2", inputs: { command: "true" } }
  - id: ${id}_after
    type: EchoBlock
    depends_on: [{ block: ${id}, required: false }]
    ${rest}
    inputs: { message: x }`;
    const trap = await start(shell('a', 'condition: "${a.exit_code} == 0"'));
    expect(trap).toMatchObject({ status: 'failed', failed: ['a_after'] });
    expect(trap.error?.hint).toContain('Ask blocks.a.succeeded');
    const asked = await start(
      shell('a', 'condition: blocks.a.succeeded'),
      'outputs: { e: "${a.exit_code}", s: "${blocks.a_after.status}" }',
    );
    expect(outputsOf(asked)).toEqual({ e: null, s: 'skipped' });
  });

  test('Y8 required: false runs after a failure, a crash and a skip alike', async () => {
    const result = await start(
      `
  - { id: exits, type: Shell, continue_on_error: true, inputs: { command: exit 1 } }
  - { id: crashes, type: ReadFiles, continue_on_error: true, inputs: { path: ${folder}/none } }
  - { id: skips, type: EchoBlock, condition: "1 == 2", inputs: { message: x } }
  - id: after
    type: EchoBlock
    depends_on: [{ block: exits, required: false }, { block: crashes, required: false }, { block: skips, required: false }]
    inputs: { message: "\${blocks.exits.failed} \${blocks.crashes.failed} \${blocks.skips.skipped}" }`,
      'outputs: { o: "${after.echoed}" }',
    );
    expect(outputsOf(result)).toEqual({ o: 'Echo: true true true' });
  });

  test('B7 fields of a block that failed over a file output are those it had, not defaults', async () => {
    const result = await start(`
  - { id: a, type: Shell, inputs: { command: "echo said; exit 4", working_dir: ${folder} }, outputs: { f: { type: str, path: none } } }`);
    expect(result.state.failures['a']).toMatchObject({ data: { exit_code: 4, stdout: 'said\n' } });
  });
});

describe('order', () => {
  test('Y8 no block waits for a slow one that it does not depend on', async () => {
    const flag = join(folder, 'flag');
    const result = await start(`
  - { id: slow, type: Shell, inputs: { command: "until test -e ${flag}; do sleep 0.01; done", timeout: 20 } }
  - { id: quick, type: EchoBlock, inputs: { message: x } }
  - { id: next, type: Shell, depends_on: [quick], inputs: { command: "touch ${flag}" } }`);
    expect(result.status).toBe('completed');
  });

  test('E1 what starts together starts in the order of the file', async () => {
    const ids = ['z', 'a', 'm', 'b', 'y'];
    const blocks = ids.map(
      (id) => `\n  - { id: ${id}, type: Shell, inputs: { command: "echo ${id} >> ${folder}/order" } }`,
    );
    await start(blocks.join(''), 'limits: { concurrency: 1 }');
    expect(readFileSync(join(folder, 'order'), 'utf8').trim().split('\n')).toEqual(ids);
  });
});

describe('loops', () => {
  test.each(['[]', '{}', '"${[]}"', '"${e}"'])(
    'Y10 the empty collection %s completes, and what needs it runs',
    async (items) => {
      const result = await start(
        `
  - { id: l, type: Shell, for_each: ${items}, inputs: { command: "echo x >> ${folder}/never" } }
  - { id: after, type: EchoBlock, depends_on: [l], inputs: { message: "\${l.count}" } }`,
        'inputs: { e: { type: list, default: [] } }\noutputs: { o: "${after.echoed}", s: "${blocks.l.succeeded}" }',
      );
      expect(outputsOf(result)).toEqual({ o: 'Echo: 0', s: true });
      expect(existsSync(join(folder, 'never'))).toBe(false);
    },
  );

  test.each([
    ['a collection that cannot be computed', '"${[int(s)]}"', ''],
    ['a wrong type', '"${s}"', ''],
    ['a bad key', '"${bad}"', ''],
    ['a condition that cannot be read', '[1, 2]', 'condition: "${int(s) == 1}",'],
  ])('Y10 %s fails the block: nothing that needs it runs, and the run is no success', async (_what, items, rest) => {
    const result = await start(
      `
  - { id: l, type: EchoBlock, for_each: ${items}, ${rest} inputs: { message: x } }
  - { id: after, type: EchoBlock, depends_on: [l], inputs: { message: x } }`,
      'inputs: { s: { type: any, default: abc }, bad: { type: dict, default: { "": 1 } } }',
    );
    expect(result).toMatchObject({ status: 'failed', failed: ['l'] });
    expect(result.state.outputs['after']).toBeUndefined();
  });

  test('Y8 metadata and inputs are known within items, too; one that is skipped makes no failure of the others', async () => {
    const result = await start(
      `
  - id: l
    type: EchoBlock
    for_each: [a, b]
    condition: "\${each.value} != 'a'"
    inputs: { message: "\${metadata.workflow_name} \${n} \${each.index + 1}/\${each.count}" }`,
      'inputs: { n: { type: int, default: 5 } }\noutputs: { o: "${blocks.l[\'1\'].echoed}", s: "${blocks.l.succeeded}", k: "${l.count_skipped}" }',
    );
    expect(outputsOf(result)).toEqual({ o: 'Echo: x 5 2/2', s: true, k: 1 });
  });

  test('B7 file outputs are read for each item', async () => {
    const result = await start(
      `
  - id: l
    type: Shell
    for_each: [a, b]
    inputs: { command: "echo \${each.value} > \${each.value}.txt", working_dir: ${folder} }
    outputs: { got: { type: str, path: "\${each.value}.txt" } }`,
      'outputs: { o: "${l.iterations.map(i, i.outputs.got)}" }',
    );
    expect(outputsOf(result)).toEqual({ o: ['a', 'b'] });
  });
});

describe('called workflows', () => {
  const called = (kid: string, inputs: string): Promise<RunResult> =>
    yamlBench().start(
      `name: x\ninputs: { l: { type: list, default: [1, { a: 2 }] } }\nblocks:\n  - { id: c, type: Workflow, inputs: { workflow: kid, ${inputs} } }\noutputs: { o: "\${c.o}" }`,
      {},
      { others: { kid } },
    );

  test('Y11 a list given to a called workflow arrives as a list', async () => {
    const child =
      'name: kid\ninputs: { x: { type: list } }\nblocks: [{ id: a, type: EchoBlock, inputs: { message: "${x[1].a}" } }]\noutputs: { o: "${x}" }';
    expect(outputsOf(await called(child, 'inputs: { x: "${l}" }'))).toEqual({ o: [1, { a: 2 }] });
  });

  test('Y11 a called workflow with failed blocks is no success of its block', async () => {
    const child = 'name: kid\nblocks: [{ id: a, type: Shell, inputs: { command: exit 1 } }]\noutputs: { o: 1 }';
    expect(await called(child, '')).toMatchObject({ status: 'failed', failed: ['c'] });
  });

  test('Y11 timeout of a called workflow holds', async () => {
    const child = 'name: kid\nblocks: [{ id: a, type: Shell, inputs: { command: sleep 30 } }]\noutputs: { o: 1 }';
    const result = await called(child, 'timeout: 0.3');
    expect(result).toMatchObject({ status: 'failed', failed: ['c'] });
    expect(JSON.stringify(result.error)).toMatch(/time/i);
  });
});

describe('settings that have an effect', () => {
  test('Y4 retry and timeout of a block', async () => {
    const count = join(folder, 'count');
    const retried = await start(`
  - { id: a, type: Shell, idempotent: true, retry: { attempts: 3, delay: 1ms }, inputs: { command: "echo x >> ${count}; test $(wc -l < ${count}) -ge 3" } }`);
    expect(retried.status).toBe('completed');
    const late = await start(`
  - { id: a, type: Shell, effect: read, timeout: 200ms, inputs: { command: sleep 30 } }`);
    expect(late).toMatchObject({ status: 'failed', failed: ['a'] });
    expect(late.error?.cause).toMatchObject({ code: 'NODE_TIMED_OUT' });
  });

  test('B6 a command sees no secret that it was not given', async () => {
    process.env['WORKFLOW_SECRET_TRAP'] = 'trap-value-of-the-server';
    process.env['CAIRN_SECRET_TRAP'] = 'trap-value-of-the-server';
    const result = await start(`
  - { id: a, type: Shell, effect: read, inputs: { command: env } }`);
    delete process.env['WORKFLOW_SECRET_TRAP'];
    delete process.env['CAIRN_SECRET_TRAP'];
    expect(JSON.stringify(result.state.outputs)).not.toContain('trap-value');
  });
});
